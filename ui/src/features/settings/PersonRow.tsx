import type { UserShown } from "../../api/types";
import { locale, t } from "../../i18n";
import { Button } from "../../kit/Button";
import styles from "./Tools.module.css";

type PersonRowProps = {
  user: UserShown;
  isMe: boolean;
  onPassword: () => void;
  onDisable: () => void;
  onEnable: () => void;
};

/** One user; nobody can lock themselves out here. */
export function PersonRow({ user, isMe, onPassword, onDisable, onEnable }: PersonRowProps) {
  const hidden = <span className="visually-hidden"> {user.name}</span>;
  return (
    <li className={user.disabled ? styles.revoked : undefined}>
      <div className={styles.about}>
        <p className={styles.name}>
          <strong>{user.name}</strong> {isMe && <span>{t("(you)")}</span>}
        </p>
        <p className={styles.facts}>
          <span className={styles.state}>{user.disabled ? t("Disabled") : t("Enabled")}</span>
          <span>{user.admin ? t("administrator") : t("user")}</span>
          <span>
            {t("{count, plural, one {# active key} other {# active keys}}", {
              count: user.live_keys,
            })}
          </span>
          <span>{user.has_password ? t("has a password") : t("no password")}</span>
          <span>
            <time dateTime={user.created_at}>
              {t("since {time}", { time: new Date(user.created_at).toLocaleDateString(locale()) })}
            </time>
          </span>
        </p>
      </div>
      <div className={styles.actions}>
        <Button onClick={onPassword}>
          {t("Set password")}
          {hidden}
        </Button>
        {user.disabled ? (
          <Button onClick={onEnable}>
            {t("Enable")}
            {hidden}
          </Button>
        ) : (
          !isMe && (
            <Button onClick={onDisable}>
              {t("Disable")}
              {hidden}
            </Button>
          )
        )}
      </div>
    </li>
  );
}
