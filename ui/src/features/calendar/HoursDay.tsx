import { type MouseEvent, useEffect, useState } from "react";
import type { Shown } from "../../planner/shown";
import { type Day, dateOf, dayOf, MINUTES_OF_DAY, minutesOf, plainDay } from "../../services/days";
import styles from "./Calendar.module.css";
import { EventButton } from "./EventButton";
import { minutesAt, pieces } from "./layout";

type DayProps = {
  day: Day;
  all: readonly Shown[];
  draft: Shown | null;
  onOpen: (one: Shown) => void;
  onNew: (minutes: number) => void;
};

const percent = (minutes: number) => `${(minutes / MINUTES_OF_DAY) * 100}%`;
const MINUTE_MS = 60_000;
/** Up to this long it has room for one line. */
const SHORT_MINUTES = 40;

/** The hours of a day. What overlaps stands side by side; what goes over midnight stands in both days. */
export function HoursDay({ day, all, draft, onOpen, onNew }: DayProps) {
  const click = (event: MouseEvent<HTMLElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    onNew(minutesAt((event.clientY - box.top) / box.height, 30));
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the cursor takes the keys
    // biome-ignore lint/a11y/useSemanticElements: a set of form fields it is not
    <div
      role="group"
      data-hours
      className={styles.hoursDay}
      data-day={day}
      aria-label={plainDay(dateOf(day))}
      onClick={click}
    >
      {pieces(all, day).map(({ one, from, to, column, columns }) => (
        <EventButton
          key={one.event.id}
          one={one}
          className={`${to - from <= SHORT_MINUTES ? styles.short : ""} ${one.first < day ? styles.fromBefore : ""} ${one.last > day ? styles.goesOn : ""}`}
          isDraft={one === draft}
          isContinued={one.first < day && one !== draft}
          edge={one.last === day}
          onOpen={onOpen}
          style={{
            top: percent(from),
            height: percent(to - from),
            insetInlineStart: `${(column / columns) * 100}%`,
            width: `${100 / columns}%`,
          }}
        />
      ))}
      {day === dayOf(new Date()) && <Now />}
    </div>
  );
}

/** The line that says how late it is. */
function Now() {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), MINUTE_MS);
    return () => clearInterval(timer);
  }, []);
  return <span className={styles.now} style={{ top: percent(minutesOf(now)) }} />;
}
