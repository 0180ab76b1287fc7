import type { Shown } from "../../planner/shown";
import { type Day, dateOf, dayOf, weekdayName } from "../../services/days";
import styles from "./Calendar.module.css";
import { EventButton } from "./EventButton";
import { lanes, spanOf } from "./layout";
import type { ViewProps } from "./views";

type RowProps = Pick<ViewProps, "all" | "onOpen" | "onMore"> & {
  days: readonly Day[];
  draft: Shown | null;
};

/** With more than these it scrolls away with the hours, which would have no room below it. */
const STAYING_LANES = 5;

/** The days' names, and below them what takes whole days. */
export function AllDayRow({ days, all, draft, onOpen, onMore }: RowProps) {
  const bars = all.filter(({ isBar }) => isBar);
  const inLanes = lanes(bars, days);
  const most = Math.max(...inLanes.map((each) => each.length));
  const today = dayOf(new Date());
  return (
    <div className={styles.allDay} data-all-day={most > STAYING_LANES ? "many" : "few"}>
      {days.map((day, i) => {
        const at = dateOf(day);
        return (
          <div key={day} className={styles.allDayCell}>
            <button
              type="button"
              className={styles.dayName}
              aria-current={day === today ? "date" : undefined}
              onClick={() => onMore(day)}
            >
              <span>{weekdayName(at)}</span> <strong>{at.getDate()}</strong>
            </button>
            {inLanes[i]?.map((one, lane) =>
              one ? (
                <EventButton
                  key={one.event.id}
                  one={one}
                  className={`${one.first === day ? "" : styles.fromBefore} ${one.last === day ? "" : styles.goesOn}`}
                  isDraft={one === draft}
                  isContinued={inLanes[i - 1]?.[lane] === one}
                  span={spanOf(one, lane, inLanes.slice(i + 1), Number.POSITIVE_INFINITY)}
                  onOpen={onOpen}
                />
              ) : (
                // biome-ignore lint/suspicious/noArrayIndexKey: a lane is known by its place
                <span key={lane} className={styles.noEvent} />
              ),
            )}
          </div>
        );
      })}
    </div>
  );
}
