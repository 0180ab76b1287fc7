import { t } from "../../i18n";
import type { Shown } from "../../planner/shown";
import { type Day, dateOf, dayOf, plainDay } from "../../services/days";
import styles from "./Calendar.module.css";
import { EventButton } from "./EventButton";
import { spanOf, visibleOf } from "./layout";
import { thought } from "./moves";

type DayProps = {
  day: Day;
  lanes: readonly (Shown | null)[];
  /** Those of the day before, in the same week. */
  before: readonly (Shown | null)[] | undefined;
  /** How many lanes there is room for. */
  room: number;
  /** Those of the days after it, in the same week. */
  after: readonly (readonly (Shown | null)[])[];
  isCurrent: boolean;
  isOutside: boolean;
  isChosen: boolean;
  draft: Shown | null;
  onOpen: (one: Shown) => void;
  onMore: (day: Day) => void;
  onNew: (one: Shown) => void;
};

/** A day of the month: its events in lanes, as many as there is room for. */
export function MonthDay(props: DayProps) {
  const { day, lanes, before = [], room, after, isCurrent, isOutside, isChosen, draft } = props;
  const at = dateOf(day);
  const isToday = dayOf(new Date()) === day;
  const events = lanes.filter((one) => one !== null);
  const fits = lanes.length <= room;
  const visible = lanes.slice(0, visibleOf(lanes, room));
  const hidden = events.length - visible.filter((one) => one !== null).length;
  const many = events.length
    ? t("{count, plural, one {# event} other {# events}}", { count: events.length })
    : t("no events");
  return (
    // biome-ignore lint/a11y/useSemanticElements: a table's cells do not take keys
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid takes the keys
    <div
      role="gridcell"
      data-day={day}
      className={`${styles.monthDay} ${isOutside ? styles.outside : ""} ${isChosen ? styles.chosen : ""}`}
      tabIndex={isCurrent ? 0 : -1}
      aria-current={isToday ? "date" : undefined}
      onClick={() => props.onNew(thought(dateOf(day, 9 * 60), dateOf(day, 10 * 60), false))}
    >
      <span className={styles.date}>
        <span aria-hidden>{at.getDate()}</span>
        <span className="visually-hidden">
          {plainDay(at)}, {many}
        </span>
      </span>
      {visible.map((one, lane) => {
        // biome-ignore lint/suspicious/noArrayIndexKey: a lane is known by its place
        if (!one) return <span key={lane} className={styles.noEvent} />;
        const isContinued = before[lane] === one;
        const ends = [
          one.first !== one.last && styles.bar,
          one.first !== day && styles.fromBefore,
          one.last !== day && styles.goesOn,
        ].filter(Boolean);
        return (
          <EventButton
            key={one.event.id}
            one={one}
            className={ends.join(" ")}
            isDraft={one === draft}
            isContinued={isContinued}
            span={spanOf(one, lane, after, room)}
            tabIndex={isCurrent || one === draft ? 0 : -1}
            onOpen={props.onOpen}
          />
        );
      })}
      {!fits && (
        <button
          type="button"
          data-more
          className={styles.more}
          tabIndex={isCurrent ? 0 : -1}
          onClick={(event) => {
            event.stopPropagation();
            props.onMore(day);
          }}
        >
          +{hidden}
          <span className="visually-hidden">
            {" "}
            {t("more on {plainday}", { plainday: plainDay(at) })}
          </span>
        </button>
      )}
    </div>
  );
}
