// Events as the reader's clock has them. Pure.
import type { Event } from "../api/calendar";
import { addDays, type Day, dateOf, dayOf } from "../services/days";

/** An event as the reader's clock has it. */
export type Shown = {
  event: Event;
  begin: Date;
  end: Date;
  /** The days it touches, both included. */
  first: Day;
  last: Day;
  /** It takes whole days, or more than one: it stands above the hours. */
  isBar: boolean;
};

const DAY_MS = 86_400_000;

export function shownOf(event: Event): Shown {
  if (event.all_day) {
    const first = event.start.slice(0, 10);
    const end = event.end.slice(0, 10);
    const last = end > first ? addDays(end, -1) : first;
    return { event, begin: dateOf(first), end: dateOf(addDays(last, 1)), first, last, isBar: true };
  }
  const begin = new Date(event.start);
  const end = new Date(Math.max(Date.parse(event.end), begin.getTime()));
  const last = dayOf(new Date(Math.max(begin.getTime(), end.getTime() - 1)));
  const isBar = end.getTime() - begin.getTime() >= DAY_MS;
  return { event, begin, end, first: dayOf(begin), last, isBar };
}

/** Earlier first, then longer, then by name: the same order wherever events are told one after the other. */
export function byTime(a: Shown, b: Shown): number {
  return (
    a.first.localeCompare(b.first) ||
    Number(b.isBar) - Number(a.isBar) ||
    a.begin.getTime() - b.begin.getTime() ||
    b.end.getTime() - a.end.getTime() ||
    a.event.title.localeCompare(b.event.title)
  );
}

export const isOn = (one: Shown, day: Day): boolean => one.first <= day && day <= one.last;
