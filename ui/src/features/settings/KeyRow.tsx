import type { KeyShown } from "../../api/types";
import { locale, t } from "../../i18n";
import { Button } from "../../kit/Button";
import { fullDate, shortDate } from "../../services/words";
import styles from "./Tools.module.css";

const states = (): Record<KeyShown["state"], string> => ({
  live: t("Active"),
  expired: t("Expired"),
  revoked: t("Revoked"),
});

/** One key, never its text: what it is for, what it lets do, and when it was used. */
export function KeyRow({ shown, onRevoke }: { shown: KeyShown; onRevoke: () => void }) {
  const { name, hint, scopes, state, created_at, last_used_at } = shown;
  return (
    <li className={state === "live" ? undefined : styles.revoked}>
      <div className={styles.about}>
        <p className={styles.name}>
          <strong>{name}</strong> <code>…{hint}</code>
        </p>
        <p className={styles.facts}>
          <span className={styles.state}>{states()[state]}</span>
          <span>{scopes.join(", ")}</span>
          <Moment at={created_at}>
            {t("created {time}", { time: shortDate(Date.parse(created_at)) })}
          </Moment>
          {last_used_at ? (
            <Moment at={last_used_at}>
              {t("used {time}", { time: shortDate(Date.parse(last_used_at)) })}
            </Moment>
          ) : (
            <span>{t("never used")}</span>
          )}
          {state !== "revoked" && <End {...shown} />}
        </p>
      </div>
      {state === "live" && (
        <div className={styles.actions}>
          <Button onClick={onRevoke}>
            {t("Revoke")}
            <span className="visually-hidden"> {name}</span>
          </Button>
        </div>
      )}
    </li>
  );
}

function Moment({ at, children }: { at: string; children: string }) {
  return (
    <time dateTime={at} title={fullDate(Date.parse(at))}>
      {children}
    </time>
  );
}

function End({ expires_at, state }: KeyShown) {
  if (!expires_at) return <span>{t("never expires")}</span>;
  const time = new Date(expires_at).toLocaleDateString(locale());
  return (
    <time dateTime={expires_at}>
      {state === "expired" ? t("expired on {time}", { time }) : t("expires on {time}", { time })}
    </time>
  );
}
