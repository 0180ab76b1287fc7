import { Repeat, TriangleAlert } from "lucide-react";
import type { CSSProperties } from "react";
import { elsewhere, spoken } from "../../planner/eventWords";
import type { Shown } from "../../planner/shown";
import { timeWords } from "../../services/days";

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
  /** What stretches it, where it can be stretched. */
  edge?: boolean;
};

/** An event on the calendar: opened by Enter or a click, moved by dragging or with Alt and the arrows. */
export function EventButton(props: EventProps) {
  const { one, onOpen, className = "", style, isDraft, isContinued, tabIndex, edge } = props;
  const { event, begin, isBar } = one;
  const there = elsewhere(one);
  const kind = `type-${event.event_type}`;
  const look = `cal-event ${isBar ? "bar" : ""} ${kind} ${event.status} ${isDraft ? "draft" : ""}`;
  return (
    <button
      type="button"
      data-event={event.id}
      className={`${look} ${className}`}
      style={style}
      tabIndex={isContinued ? -1 : tabIndex}
      aria-hidden={isContinued || undefined}
      aria-keyshortcuts="Alt+ArrowUp Alt+ArrowDown Alt+ArrowLeft Alt+ArrowRight Delete"
      onClick={(click) => {
        click.stopPropagation();
        onOpen(one);
      }}
    >
      {event.conflicts.length > 0 && <TriangleAlert className="clash" size={12} aria-hidden />}
      <span className="title">{event.title}</span>
      {!event.all_day && <time>{timeWords(begin)}</time>}
      {there && <small className="there">{there}</small>}
      {event.recurrence && <Repeat size={11} aria-hidden />}
      <span className="visually-hidden">, {spoken(one)}</span>
      {edge && <span className="edge" data-edge={event.id} />}
    </button>
  );
}
