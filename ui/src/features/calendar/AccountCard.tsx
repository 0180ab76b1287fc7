import { useState } from "react";
import { type Account, calendarsApi, type Synced } from "../../api/calendars";
import { Button } from "../../kit/Button";
import { Confirm } from "../../kit/Dialog";
import { Notice } from "../../kit/pieces";
import { shortDate } from "../../services/words";
import { sendsWords } from "./AccountForm";
import { useAttempt } from "./useAttempt";

type CardProps = { account: Account; onChange: () => Promise<unknown> };

function syncedWords({ received, sent, conflicts }: Synced): string {
  const clash = conflicts ? `, ${conflicts} in conflict` : "";
  return received + sent + conflicts
    ? `${received} came, ${sent} went${clash}`
    : "Both sides are the same";
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
  const synced = account.synced_at ? shortDate(Date.parse(account.synced_at)) : "never";
  return (
    <article className="account" aria-label={name}>
      <h3>{name}</h3>
      <p className="small">
        {user} at {url}. {paused ? "Paused" : `Synchronised ${synced}`}. Goes there:{" "}
        {sendsWords[account.sends].toLowerCase()}.
      </p>
      {error && <Notice tone="fault">{error}</Notice>}
      {pending > 0 && (
        <Notice tone="ask">
          {pending} entries are gone on one side, more than are believed unasked.
          <span>
            <Button disabled={busy} onClick={() => sync(true)}>
              Delete them here, too
            </Button>
          </span>
        </Notice>
      )}
      <fieldset className="choices inline" aria-label={`Calendars of ${name}`}>
        {calendars.map(({ href, name: calendar, on, read_only: readOnly }) => (
          <label key={href}>
            <input
              type="checkbox"
              checked={on}
              disabled={busy}
              onChange={({ target }) => turn(href, target.checked)}
            />
            {calendar}
            {readOnly && " (read only)"}
          </label>
        ))}
      </fieldset>
      {refused.length > 0 && (
        <ul className="bad-lines" aria-label="Not taken">
          {refused.map(({ title, why }) => (
            <li key={`${title} ${why}`}>
              {title}: {why}
            </li>
          ))}
        </ul>
      )}
      <div className="actions">
        <Button look="quiet" onClick={() => setAsking(true)}>
          Remove
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
          {paused ? "Resume" : "Pause"}
        </Button>
        <Button disabled={busy} onClick={() => sync()}>
          {busy ? "Synchronising" : "Synchronise now"}
        </Button>
      </div>
      {asking && (
        <Confirm
          title={`Remove the account “${name}”?`}
          action="Remove"
          onConfirm={() =>
            void attempt(async () => {
              await calendarsApi.removeAccount(id);
              return `The account “${name}” is removed`;
            })
          }
          onClose={() => setAsking(false)}
        >
          <p>What came from it goes from here; on the server everything stays.</p>
        </Confirm>
      )}
    </article>
  );
}
