// Backups: the last good one, making one now, all that there are, and their settings.
import { DatabaseBackup } from "lucide-react";
import { useEffect } from "react";
import { type Backup, type Backups, backupsApi } from "../../api/backups";
import { t, told } from "../../i18n";
import { Button } from "../../kit/Button";
import { Notice, ProblemNotice, Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { useRead } from "../../services/useRead";
import { bytes, fullDate } from "../../services/words";
import { AdminsOnly, GroupSettings } from "./GroupSettings";
import styles from "./Room.module.css";
import lines from "./SharedLinks.module.css";

const AGAIN_MS = 1_000;
const date = (at: string) => fullDate(Date.parse(at));

export function BackupsPage({ found }: { found: string | null }) {
  const { toasts } = useApp();
  const { value, problem, read, look, change } = useRead(backupsApi.list);
  const isRunning = value?.running ?? false;
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => void look(), AGAIN_MS);
    return () => clearInterval(timer);
  }, [isRunning, look]);
  const start = async () => {
    try {
      const now = await backupsApi.start();
      change(() => now);
    } catch (error) {
      toasts.fault(error);
    }
  };
  if (problem?.code === "not_allowed") return <AdminsOnly />;
  return (
    <>
      <section className={styles.part} aria-labelledby="backups">
        <h2 id="backups">{t("Backups")}</h2>
        {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
        {!value && !problem && <Skeleton lines={3} label={t("Loading the backups")} />}
        {value && <State backups={value} />}
        {value && (
          <div className={styles.buttons}>
            <Button icon={DatabaseBackup} disabled={isRunning} onClick={() => void start()}>
              {isRunning ? t("Making a backup…") : t("Make a backup now")}
            </Button>
          </div>
        )}
        {value && value.backups.length > 0 && (
          <ul className={lines.links} aria-labelledby="backups">
            {value.backups.map((each) => (
              <li key={each.id}>
                <span>
                  {each.at ? date(each.at) : each.id}
                  <small>{factsOf(each)}</small>
                </span>
              </li>
            ))}
          </ul>
        )}
      </section>
      <GroupSettings groups={["backups"]} found={found} />
    </>
  );
}

/** The last good one, when the next is made and where they are; or what is wrong. */
function State({
  backups: { backups, last_good, next_at, running, fault, folder },
}: {
  backups: Backups;
}) {
  const good = backups.find(({ id }) => id === last_good);
  return (
    <>
      {fault && !running && (
        <Notice tone="fault">{t("The last backup failed: {fault}", { fault: told(fault) })}</Notice>
      )}
      <p role="status">
        {good?.at
          ? t("The last good backup is of {date}.", { date: date(good.at) })
          : t("There is no backup yet.")}{" "}
        {next_at && t("The next one is made on {date}.", { date: date(next_at) })}
      </p>
      <p className={styles.note}>
        {t("They are in {folder}. To bring one back: {command}", {
          folder,
          command: `bethink restore ${last_good ?? "latest"} --data-dir DIR`,
        })}
      </p>
    </>
  );
}

/** Its size, why it was made, whether it was tried, and when it goes. */
function factsOf({ bytes: size, reason, encrypted, verified_at, fault, goes_at }: Backup): string {
  if (fault) return told(fault);
  const reasons = {
    asked: t("by hand"),
    scheduled: t("by itself"),
    upgrade: t("before an upgrade"),
  };
  const facts = [
    bytes(size),
    reason && reasons[reason],
    encrypted && t("encrypted"),
    verified_at ? t("verified") : t("not verified"),
    goes_at && t("goes on {date}", { date: date(goes_at) }),
  ];
  return facts.filter(Boolean).join(" · ");
}
