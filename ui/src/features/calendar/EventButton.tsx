import { Repeat, TriangleAlert } from "lucide-react";
import type { CSSProperties } from "react";
import { elsewhere, spoken } from "../../planner/eventWords";
import planner from "../../planner/planner.module.css";
import type { Shown } from "../../planner/shown";
import { timeWords } from "../../services/days";
import styles from "./Calendar.module.css";

type EventProps = {
  one: Shown;
  onOpen: (one: Shown) => void;
  className?: string;
  style?: CSSProperties;
  /** It is being moved. */
  isDraft?: boolean;
  /** Its name stands in an earlier day already. */
  isContinued?: boolean;
  tabIndex?: number;
  /** Its name has room over so many days. */
  span?: number;
  /** What stretches it, where it can be stretched. */
  edge?: boolean;
};

/** An event on the calendar: opened by Enter or a click, moved by dragging or with Alt and the arrows. */
export function EventButton(props: EventProps) {
  const {
    one,
    onOpen,
    className = "",
    style,
    isDraft,
    isContinued,
    tabIndex,
    edge,
    span = 1,
  } = props;
  const { event, begin, isBar } = one;
  const there = elsewhere(one);
  const look = [
    styles.event,
    planner.kind,
    isBar && styles.bar,
    isDraft && styles.draft,
    span > 1 && !isContinued && styles.spans,
    className,
  ].filter(Boolean);
  return (
    <button
      type="button"
      data-event={event.id}
      data-type={event.event_type}
      data-status={event.status}
      className={look.join(" ")}
      style={span > 1 ? ({ ...style, "--span": span } as CSSProperties) : style}
      tabIndex={isContinued ? -1 : tabIndex}
      aria-hidden={isContinued || undefined}
      aria-keyshortcuts="Alt+ArrowUp Alt+ArrowDown Alt+ArrowLeft Alt+ArrowRight Delete"
      onClick={(click) => {
        click.stopPropagation();
        onOpen(one);
      }}
    >
      {event.conflicts.length > 0 && (
        <TriangleAlert className={planner.clash} size={12} aria-hidden />
      )}
      <span className={styles.title}>{event.title}</span>
      {!event.all_day && <time>{timeWords(begin)}</time>}
      {there && <small className={styles.there}>{there}</small>}
      {event.recurrence && <Repeat size={11} aria-hidden />}
      <span className="visually-hidden">, {spoken(one)}</span>
      {edge && <span className={styles.edge} data-edge={event.id} />}
    </button>
  );
}
