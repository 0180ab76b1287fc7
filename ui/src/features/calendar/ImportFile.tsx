import { Upload } from "lucide-react";
import { useRef, useState } from "react";
import { calendarsApi, type Imported } from "../../api/calendars";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import styles from "./Calendar.module.css";
import { useAttempt } from "./useAttempt";

const nothing = async () => undefined;

/** Takes in a calendar file, and says what became of each part of it. */
export function ImportFile() {
  const field = useRef<HTMLInputElement>(null);
  const [file, setFile] = useState<File | null>(null);
  const [done, setDone] = useState<Imported | null>(null);
  const { busy, attempt } = useAttempt(nothing);
  const take = (chosen: File, overwrite: boolean) =>
    void attempt(async () => {
      setFile(chosen);
      setDone(await calendarsApi.import(chosen, overwrite));
      return null;
    });
  return (
    <>
      <Button icon={Upload} disabled={busy} onClick={() => field.current?.click()}>
        {busy ? t("Reading the file") : t("Import a file")}
      </Button>
      <input
        ref={field}
        type="file"
        hidden
        accept=".ics,text/calendar"
        aria-label={t("Calendar file")}
        onChange={({ target }) => {
          const [chosen] = target.files ?? [];
          if (chosen) take(chosen, false);
          target.value = "";
        }}
      />
      {done && file && (
        <Dialog title={t("Imported {name}", { name: file.name })} onClose={() => setDone(null)}>
          <div className="body scroll">
            <Report done={done} />
            <div className="actions">
              {done.kept > 0 && (
                <Button disabled={busy} onClick={() => take(file, true)}>
                  {t("Replace those {kept}", { kept: done.kept })}
                </Button>
              )}
              <Button look="primary" onClick={() => setDone(null)}>
                {t("Close")}
              </Button>
            </div>
          </div>
        </Dialog>
      )}
    </>
  );
}

function Report({ done }: { done: Imported }) {
  return (
    <>
      <p>
        {t("{count}, {changed} changed, {known} here already.", {
          count: t("{count, plural, one {# new entry} other {# new entries}}", { count: done.new }),
          changed: done.changed,
          known: done.known,
        })}
      </p>
      {done.kept > 0 && (
        <p>{t("{kept} are different here, and were left as they are.", { kept: done.kept })}</p>
      )}
      {done.refused_count > 0 && (
        <>
          <p>{t("{refused_count} could not be taken:", { refused_count: done.refused_count })}</p>
          <ul className={styles.badLines}>
            {done.refused.map(({ title, why }) => (
              <li key={`${title} ${why}`}>
                {title}: {why}
              </li>
            ))}
          </ul>
        </>
      )}
      {done.problems.length > 0 && (
        <ul className={styles.badLines} aria-label={t("Problems of the file")}>
          {done.problems.map((problem) => (
            <li key={problem}>{problem}</li>
          ))}
        </ul>
      )}
    </>
  );
}
