import { MapPin, Repeat, TriangleAlert, Users } from "lucide-react";
import { t } from "../i18n";
import { type Day, timeWords } from "../services/days";
import { recurrenceWords } from "../services/recurrence";
import { elsewhere } from "./eventWords";
import styles from "./planner.module.css";
import type { Shown } from "./shown";

type RowProps = { one: Shown; day: Day; onOpen: (one: Shown) => void };

/** The time of an event on one of its days. */
function timeOn({ event, begin, end, first, last }: Shown, day: Day): string {
  if (event.all_day || (first < day && day < last)) return t("All day");
  if (first < day) return t("until {time}", { time: timeWords(end) });
  return last > day
    ? t("from {time}", { time: timeWords(begin) })
    : `${timeWords(begin)} – ${timeWords(end)}`;
}

export function EventRow({ one, day, onOpen }: RowProps) {
  const { event } = one;
  const there = elsewhere(one);
  return (
    <button
      type="button"
      data-row={event.id}
      data-event={event.id}
      data-type={event.event_type}
      data-status={event.status}
      className={`${styles.event} ${styles.kind}`}
      onClick={() => onOpen(one)}
    >
      <time>{timeOn(one, day)}</time>
      <span className={styles.title}>
        <span dir="auto">{event.title}</span>
      </span>
      <span className={styles.facts}>
        {event.conflicts.length > 0 && (
          <span className={styles.clash}>
            <TriangleAlert size={12} aria-hidden /> {t("overlaps")}
          </span>
        )}
        {there && <span>{there}</span>}
        {event.recurrence && (
          <span>
            <Repeat size={12} aria-hidden />{" "}
            {recurrenceWords(event.recurrence, event.recurrence_words)}
          </span>
        )}
        {event.location && (
          <span>
            <MapPin size={12} aria-hidden /> {event.location}
          </span>
        )}
        {event.attendees.length > 0 && (
          <span>
            <Users size={12} aria-hidden />{" "}
            {t("{count, plural, one {# person} other {# people}}", {
              count: event.attendees.length,
            })}
          </span>
        )}
      </span>
    </button>
  );
}
