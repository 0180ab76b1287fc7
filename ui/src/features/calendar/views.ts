import type { Shown } from "../../planner/shown";
import type { Day } from "../../services/days";
import { addDays, addMonths, range, weekOf, weeksOfMonth } from "../../services/days";
import type { CalendarView } from "../../services/router";
import type { EventChanges } from "./useEventChanges";

/** What every view of the calendar is given. */
export type ViewProps = {
  all: readonly Shown[];
  /** The day that is looked at. */
  day: Day;
  /** The weekday that weeks begin with. */
  first: number;
  onDay: (day: Day) => void;
  onOpen: (one: Shown) => void;
  /** Begins a new event at this time. */
  onNew: (one: Shown) => void;
  /** Shows all of a day. */
  onMore: (day: Day) => void;
  changes: EventChanges;
};

export const AGENDA_DAYS = 30;

/** The days that a view shows. */
export function daysShown(view: CalendarView, day: Day, first: number): readonly Day[] {
  switch (view) {
    case "month":
      return weeksOfMonth(day, first).flat();
    case "week":
      return weekOf(day, first);
    case "day":
      return [day];
    case "agenda":
      return range(day, AGENDA_DAYS);
  }
}

/** The day that the view before or after looks at. */
export function turned(view: CalendarView, day: Day, by: 1 | -1): Day {
  if (view === "month") return addMonths(day, by);
  return addDays(day, by * { week: 7, day: 1, agenda: AGENDA_DAYS }[view]);
}
