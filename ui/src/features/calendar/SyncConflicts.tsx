import { calendarsApi, type Keep, type SyncConflict } from "../../api/calendars";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { useRead } from "../../services/useRead";
import styles from "./Calendar.module.css";
import { useAttempt } from "./useAttempt";

/** Entries that were changed on both sides: nothing is lost until their owner chooses. */
export function SyncConflicts() {
  const { value, look } = useRead(calendarsApi.conflicts);
  const { busy, attempt } = useAttempt(look);
  if (!value?.items.length) return null;
  const settle = (conflict: SyncConflict, keep: Keep) =>
    void attempt(async () => {
      await calendarsApi.settle(conflict.id, keep);
      return t("“{title}” is settled", { title: conflict.title });
    });
  return (
    <section aria-label={t("Conflicts")}>
      <h2>{t("Changed on both sides")}</h2>
      {value.items.map((conflict) => (
        <article key={conflict.id} className={styles.account} aria-label={conflict.title}>
          <h3>{conflict.title}</h3>
          <p className="small">
            {t("Here and at {account_name}. Which one stays?", {
              account_name: conflict.account_name,
            })}
          </p>
          <div className={styles.versions}>
            <Version label={t("Here")} text={conflict.here} />
            <Version label={conflict.account_name} text={conflict.there} />
          </div>
          <div className="actions">
            <Button disabled={busy} onClick={() => settle(conflict, "here")}>
              {t("Keep this one")}
            </Button>
            <Button disabled={busy} onClick={() => settle(conflict, "there")}>
              {t("Take theirs")}
            </Button>
            <Button disabled={busy} onClick={() => settle(conflict, "both")}>
              {t("Keep both")}
            </Button>
          </div>
        </article>
      ))}
    </section>
  );
}

const NAMES: Record<string, string> = {
  SUMMARY: t("Title"),
  DTSTART: t("Begins"),
  DTEND: t("Ends"),
  DUE: t("Due"),
  LOCATION: t("Place"),
  DESCRIPTION: t("Notes"),
  RRULE: t("Repeats"),
  STATUS: t("State"),
};

/** The lines of a calendar file that people read. */
export function factsIn(text: string): readonly (readonly [name: string, value: string])[] {
  const inside = /BEGIN:(VEVENT|VTODO)\r?\n([\s\S]*?)(?:BEGIN:VALARM|END:\1)/.exec(text)?.[2] ?? "";
  return inside
    .replace(/\r?\n[ \t]/g, "")
    .split(/\r?\n/)
    .map((line) => /^([A-Z-]+)(?:;[^:]*)?:(.*)$/.exec(line) ?? [])
    .map(
      ([, name = "", value = ""]) =>
        [NAMES[name] ?? "", value.replace(/\\([,;\\])/g, "$1")] as const,
    )
    .filter(([name]) => name);
}

function Version({ label, text }: { label: string; text: string | null }) {
  return (
    <div>
      <h4>{label}</h4>
      {text ? (
        <dl>
          {factsIn(text).map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      ) : (
        <p className="small">{t("Deleted")}</p>
      )}
    </div>
  );
}
