import { useCallback } from "react";
import { type ScheduleRun, schedulesApi } from "../../api/schedules";
import { t, told } from "../../i18n";
import { Dialog } from "../../kit/Dialog";
import { Link, ProblemNotice, Skeleton } from "../../kit/pieces";
import { addressOfChat } from "../../services/router";
import { useRead } from "../../services/useRead";
import { duration, fullDate } from "../../services/words";
import styles from "./Schedules.module.css";
import { nextWords, outcomeWords } from "./words";

/** So late that it is worth saying. */
const LATE_S = 60;

async function readAll(id: string, signal: AbortSignal) {
  const [schedule, history] = await Promise.all([
    schedulesApi.get(id, signal),
    schedulesApi.history(id, signal),
  ]);
  return { schedule, runs: history.items };
}

/** What came of a schedule, the newest first. */
export function ScheduleHistory({ id, onClose }: { id: string; onClose: () => void }) {
  const ask = useCallback((signal: AbortSignal) => readAll(id, signal), [id]);
  const { value, problem, read } = useRead(ask);
  return (
    <Dialog title={value?.schedule.title ?? t("Schedule")} className="wide" onClose={onClose}>
      <div className="body scroll">
        {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
        {!value && !problem && <Skeleton lines={4} label={t("Loading the history")} />}
        {value && <p>{nextWords(value.schedule)}</p>}
        {value && !value.runs.length && <p>{t("It has not happened yet.")}</p>}
        <ol className={styles.history} aria-label={t("History")}>
          {value?.runs.map((run) => (
            <li key={run.id}>
              <HistoryRow run={run} />
            </li>
          ))}
        </ol>
      </div>
    </Dialog>
  );
}

function HistoryRow({ run }: { run: ScheduleRun }) {
  const late =
    run.late_s >= LATE_S ? `, ${t("{time} late", { time: duration(run.late_s * 1000) })}` : "";
  return (
    <>
      <time dateTime={run.due_at}>{fullDate(Date.parse(run.due_at))}</time>
      <span>
        {outcomeWords(run.outcome)}
        {late}
        {run.conversation && (
          <>
            {" · "}
            <Link to={addressOfChat(run.conversation)}>{t("Open")}</Link>
          </>
        )}
      </span>
      {run.error && <p className="why">{told(run.error)}</p>}
    </>
  );
}
