import {
  AlarmClock,
  Ellipsis,
  Eraser,
  History,
  Pause,
  Pencil,
  Play,
  Repeat,
  TriangleAlert,
  Zap,
} from "lucide-react";
import { useState } from "react";
import type { Schedule } from "../../api/schedules";
import { t } from "../../i18n";
import { Confirm } from "../../kit/Dialog";
import { Menu } from "../../kit/Popover";
import { Link } from "../../kit/pieces";
import { recurrenceWords } from "../../services/recurrence";
import { addressOfChat } from "../../services/router";
import { shortDate } from "../../services/words";
import styles from "./Schedules.module.css";
import type { ScheduleChanges } from "./useScheduleChanges";
import { actions, needsLook, nextWords, outcomeWords } from "./words";

type RowProps = {
  schedule: Schedule;
  changes: ScheduleChanges;
  onEdit: () => void;
  onHistory: () => void;
};

const snoozes = [
  { minutes: 10, label: t("Snooze for 10 minutes") },
  { minutes: 60, label: t("Snooze for an hour") },
  { minutes: 1440, label: t("Snooze for a day") },
];

export function ScheduleRow({ schedule, changes, onEdit, onHistory }: RowProps) {
  const [asking, setAsking] = useState(false);
  const { title, text, action, url, last, paused, recurrence } = schedule;
  const { icon: Icon, label } = actions[action];
  const items = [
    { label: t("Edit"), icon: Pencil, run: onEdit },
    { label: t("Run now"), icon: Zap, run: () => void changes.run(schedule) },
    paused
      ? { label: t("Resume"), icon: Play, run: () => void changes.resume(schedule) }
      : { label: t("Pause"), icon: Pause, run: () => void changes.pause(schedule) },
    ...snoozes.map(({ minutes, label: name }) => ({
      label: name,
      icon: AlarmClock,
      run: () => void changes.snooze(schedule, minutes),
    })),
    { label: t("History"), icon: History, run: onHistory },
    { label: t("Delete"), icon: Eraser, run: () => setAsking(true), fault: true },
  ];
  return (
    <article className={`${styles.schedule} ${paused ? styles.paused : ""}`} aria-label={title}>
      <Icon size={18} strokeWidth={1.75} aria-label={label} />
      <div>
        <h2>{title}</h2>
        {text && text !== title && <p className="clip">{text}</p>}
        <p className={styles.facts}>
          <span>{nextWords(schedule)}</span>
          {recurrence && (
            <span>
              <Repeat size={12} aria-hidden />{" "}
              {recurrenceWords(schedule.recurrence, schedule.recurrence_words) || t("repeats")}
            </span>
          )}
          {url && <span className="clip">{url}</span>}
          {last && (
            <span className={needsLook(last.outcome) ? styles.ask : ""}>
              {needsLook(last.outcome) && <TriangleAlert size={12} aria-hidden />}
              {t("Last {date}:", { date: shortDate(Date.parse(last.at)) })}{" "}
              {last.conversation ? (
                <Link to={addressOfChat(last.conversation)}>{outcomeWords(last.outcome)}</Link>
              ) : (
                outcomeWords(last.outcome)
              )}
            </span>
          )}
        </p>
      </div>
      <Menu icon={Ellipsis} label={t("More for {title}", { title })} items={items} />
      {asking && (
        <Confirm
          title={t("Delete “{title}”?", { title })}
          action={t("Delete")}
          onConfirm={() => void changes.remove(schedule)}
          onClose={() => setAsking(false)}
        >
          <p>
            {t("It does not happen any more, and its history goes with it. This cannot be undone.")}
          </p>
        </Confirm>
      )}
    </article>
  );
}
