import { useState } from "react";
import { type Account, calendarsApi, type Synced } from "../../api/calendars";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Confirm } from "../../kit/Dialog";
import { Notice } from "../../kit/pieces";
import { shortDate } from "../../services/words";
import { sendsWords } from "./AccountForm";
import styles from "./Calendar.module.css";
import { useAttempt } from "./useAttempt";

type CardProps = { account: Account; onChange: () => Promise<unknown> };

function syncedWords({ received, sent, conflicts }: Synced): string {
  const clash = conflicts ? `, ${t("{conflicts} in conflict", { conflicts })}` : "";
  return received + sent + conflicts
    ? t("{received} came, {sent} went{clash}", { received, sent, clash })
    : t("Both sides are the same");
}

/** An account: how it is, its calendars, what does not work. */
export function AccountCard({ account, onChange }: CardProps) {
  const { id, name, url, user, calendars, error, paused, pending_deletions: pending } = account;
  const { refused = [] } = account;
  const { busy, attempt } = useAttempt(onChange);
  const [asking, setAsking] = useState(false);
  const sync = (acceptDeletions = false) =>
    void attempt(async () => syncedWords(await calendarsApi.sync(id, acceptDeletions)));
  const turn = (href: string, on: boolean) => {
    const off = calendars.filter((each) => (each.href === href ? !on : !each.on));
    void attempt(async () => {
      await calendarsApi.changeAccount(id, { off: off.map((each) => each.href) });
      return null;
    });
  };
  const synced = account.synced_at
    ? t("Synchronised {date}", { date: shortDate(Date.parse(account.synced_at)) })
    : t("Never synchronised");
  return (
    <article className={styles.account} aria-label={name}>
      <h3>{name}</h3>
      <p className="small">
        {t("{user} at {url}", { user, url })}. {paused ? t("Paused") : synced}.{" "}
        {t("Goes there: {what}", { what: sendsWords[account.sends] })}.
      </p>
      {error && <Notice tone="fault">{error}</Notice>}
      {pending > 0 && (
        <Notice tone="ask">
          {t("{pending} entries are gone on one side, more than are believed unasked.", {
            pending,
          })}
          <span>
            <Button disabled={busy} onClick={() => sync(true)}>
              {t("Delete them here, too")}
            </Button>
          </span>
        </Notice>
      )}
      <fieldset className="choices inline" aria-label={t("Calendars of {name}", { name })}>
        {calendars.map(({ href, name: calendar, on, read_only: readOnly }) => (
          <label key={href}>
            <input
              type="checkbox"
              checked={on}
              disabled={busy}
              onChange={({ target }) => turn(href, target.checked)}
            />
            {calendar}
            {readOnly && ` (${t("read only")})`}
          </label>
        ))}
      </fieldset>
      {refused.length > 0 && (
        <ul className={styles.badLines} aria-label={t("Not taken")}>
          {refused.map(({ title, why }) => (
            <li key={`${title} ${why}`}>
              {title}: {why}
            </li>
          ))}
        </ul>
      )}
      <div className="actions">
        <Button look="quiet" onClick={() => setAsking(true)}>
          {t("Remove")}
        </Button>
        <Button
          disabled={busy}
          onClick={() =>
            void attempt(async () => {
              await calendarsApi.changeAccount(id, { paused: !paused });
              return null;
            })
          }
        >
          {paused ? t("Resume") : t("Pause")}
        </Button>
        <Button disabled={busy} onClick={() => sync()}>
          {busy ? t("Synchronising") : t("Synchronise now")}
        </Button>
      </div>
      {asking && (
        <Confirm
          title={t("Remove the account “{name}”?", { name })}
          action={t("Remove")}
          onConfirm={() =>
            void attempt(async () => {
              await calendarsApi.removeAccount(id);
              return t("The account “{name}” is removed", { name });
            })
          }
          onClose={() => setAsking(false)}
        >
          <p>{t("What came from it goes from here; on the server everything stays.")}</p>
        </Confirm>
      )}
    </article>
  );
}
