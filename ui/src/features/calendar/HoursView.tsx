// A day or a week in hours: events are carried, stretched at their foot, and drawn into empty hours.
import { type KeyboardEvent, useEffect, useMemo, useRef } from "react";
import { across } from "../../kit/across";
import { useDrag } from "../../kit/useDrag";
import type { Shown } from "../../planner/shown";
import { type Day, dateOf, daysBetween, MINUTES_OF_DAY } from "../../services/days";
import type { CalendarView } from "../../services/router";
import { AllDayRow } from "./AllDayRow";
import styles from "./Calendar.module.css";
import { Cursor, useCursor } from "./Cursor";
import { HoursDay } from "./HoursDay";
import { minutesAt, STEP_MINUTES } from "./layout";
import { moved, nudged, stretched, thought, withDraft } from "./moves";
import { useDraft } from "./useDraft";
import { daysShown, type ViewProps } from "./views";

type Place = { day: Day; minutes: number };
type Taken = { what: "move" | "stretch"; one: Shown; from: Place } | { what: "new"; from: Place };

const OPENS_AT = 7;
const hours = Array.from({ length: 24 }, (_, hour) => hour);

/** The day and the time under a point; beside the days, of the one that is nearest. */
function placeUnder(grid: HTMLElement | null, x: number, y: number): Place | null {
  const all = [...(grid?.querySelectorAll<HTMLElement>("[data-hours]") ?? [])];
  const boxes = all.map((each) => each.getBoundingClientRect());
  const inside = boxes.findIndex((box) => x < box.right);
  const at = inside < 0 ? boxes.length - 1 : inside;
  const day = all[at]?.dataset.day;
  const box = boxes[at];
  return day && box ? { day, minutes: minutesAt((y - box.top) / box.height) } : null;
}

function between(a: Place, b: Place): Shown {
  const [from, to] = a.day < b.day || (a.day === b.day && a.minutes <= b.minutes) ? [a, b] : [b, a];
  const least =
    from.day === to.day ? Math.max(to.minutes, from.minutes + STEP_MINUTES) : to.minutes;
  return thought(dateOf(from.day, from.minutes), dateOf(to.day, least), false);
}

function carried(taken: Taken, to: Place): Shown {
  const { from } = taken;
  if (taken.what === "new") return between(from, to);
  const change = taken.what === "move" ? moved : stretched;
  return change(taken.one, daysBetween(from.day, to.day), to.minutes - from.minutes);
}

export function HoursView(props: ViewProps & { view: CalendarView }) {
  const { all, day, first, view, onDay, onOpen, onNew, changes } = props;
  const grid = useRef<HTMLDivElement>(null);
  const days = useMemo(() => daysShown(view, day, first), [view, day, first]);
  const { draft, setDraft, put, nudge } = useDraft(grid, changes.place);
  const cursor = useCursor(grid, day, onDay);
  const find = (id: string | undefined) => all.find(({ event }) => event.id === id);
  // biome-ignore lint/correctness/useExhaustiveDependencies: where it opens; then it is its reader's
  useEffect(() => {
    const part = grid.current;
    if (!part) return;
    // Where seven days are wider than there is room, it opens at the one that is meant.
    const shown = part.querySelector<HTMLElement>(`[data-hours][data-day="${day}"]`);
    const names = part.querySelector<HTMLElement>("[data-names]");
    if (!shown || !names) return;
    part.scrollTop = ((OPENS_AT - 0.25) / 24) * names.offsetHeight;
    part.scrollLeft = shown.offsetLeft - names.offsetWidth;
  }, []);
  const drag = useDrag<Taken>({
    take: ({ target, clientX, clientY }) => {
      const part = target as Element;
      const from = placeUnder(grid.current, clientX, clientY);
      if (!from || !part.closest("[data-hours], [data-all-day]")) return null;
      const one = find(part.closest<HTMLElement>("[data-event]")?.dataset.event);
      if (one) return { what: part.closest("[data-edge]") ? "stretch" : "move", one, from };
      return part.closest("[data-hours]") ? { what: "new", from } : null;
    },
    move: (taken, { x, y }) => {
      const to = placeUnder(grid.current, x, y);
      if (to) setDraft(carried(taken, to));
    },
    drop: (taken, { x, y }) => {
      const to = carried(taken, placeUnder(grid.current, x, y) ?? taken.from);
      if (taken.what !== "new") return void put(taken.one, to);
      setDraft(null);
      onNew(to);
    },
    leave: () => setDraft(null),
  });
  const press = (event: KeyboardEvent<HTMLDivElement>) => {
    const id = (event.target as Element).closest<HTMLElement>("[data-event]")?.dataset.event;
    const one = draft?.event.id === id ? (draft ?? undefined) : find(id);
    if (!one) return cursor.press(event);
    if (event.key === "Delete" || event.key === "Backspace") return void changes.remove(one.event);
    if (!event.altKey) return;
    const to = nudged(one, across(event.key), event.shiftKey, { days: 0, minutes: STEP_MINUTES });
    if (!to) return;
    event.preventDefault();
    nudge(one, to);
  };
  const shown = withDraft(all, draft);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: hears the keys of what is inside
    <div
      ref={grid}
      className={`${styles.hours} scroll`}
      style={{ "--days": days.length } as React.CSSProperties}
      onKeyDown={press}
      {...drag}
    >
      <AllDayRow days={days} all={shown} draft={draft} onOpen={onOpen} onMore={props.onMore} />
      <div className={styles.hoursBody}>
        <div className={styles.hourNames} data-names aria-hidden>
          {hours.slice(1).map((hour) => (
            <span key={hour} style={{ top: `calc(var(--hour) * ${hour})` }}>
              {String(hour).padStart(2, "0")}:00
            </span>
          ))}
        </div>
        {days.map((each) => (
          <HoursDay
            key={each}
            day={each}
            all={shown}
            draft={draft}
            onOpen={onOpen}
            onNew={(minutes) => {
              const end = Math.min(minutes + 60, MINUTES_OF_DAY);
              onNew(thought(dateOf(each, minutes), dateOf(each, end), false));
            }}
          />
        ))}
        <Cursor
          days={days}
          cursor={cursor}
          onNew={(at) =>
            onNew(thought(dateOf(at.day, at.minutes), dateOf(at.day, at.minutes + 60), false))
          }
        />
      </div>
    </div>
  );
}
