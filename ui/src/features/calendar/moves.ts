// An event at another time. Pure.
import type { Event } from "../../api/calendar";
import { t } from "../../i18n";
import { type Shown, shownOf } from "../../planner/shown";
import { dayOf, rfc3339, shifted } from "../../services/days";
import { STEP_MINUTES } from "./layout";

/** Its times as the server takes them. */
export function timesOf(begin: Date, end: Date, allDay: boolean): Pick<Event, "start" | "end"> {
  return allDay
    ? { start: dayOf(begin), end: dayOf(end) }
    : { start: rfc3339(begin), end: rfc3339(end) };
}

const at = ({ event }: Shown, begin: Date, end: Date): Shown =>
  shownOf({ ...event, ...timesOf(begin, end, event.all_day) });

/** Moved by days and minutes of the clock; it lasts as long as before. */
export function moved(one: Shown, days: number, minutes: number): Shown {
  const { event, begin, end } = one;
  if (event.all_day) return at(one, shifted(begin, days, 0), shifted(end, days, 0));
  const to = shifted(begin, days, minutes);
  return at(one, to, new Date(to.getTime() + end.getTime() - begin.getTime()));
}

const later = (a: Date, b: Date) => new Date(Math.max(a.getTime(), b.getTime()));

/** Its end moved; it stays at least one step long, or a day. */
export function stretched(one: Shown, days: number, minutes: number): Shown {
  const { event, begin, end } = one;
  if (event.all_day) {
    const least = shifted(begin, 1, 0);
    const to = shifted(end, days, 0);
    return at(one, begin, later(to, least));
  }
  const least = shifted(begin, 0, STEP_MINUTES);
  const to = shifted(end, days, minutes);
  return at(one, begin, later(to, least));
}

const arrows: Record<string, readonly [days: number, steps: number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** What Alt and an arrow make of it, with Shift of its end; null for other keys. `down` is a step downward. */
export function nudged(
  one: Shown,
  key: string,
  isStretch: boolean,
  down: { days: number; minutes: number },
): Shown | null {
  const [days, steps] = arrows[key] ?? [0, 0];
  if (!days && !steps) return null;
  const change = isStretch ? stretched : moved;
  const step = one.isBar && !down.days ? { days: 0, minutes: 0 } : down;
  return change(one, days + steps * step.days, steps * step.minutes);
}

export const isSame = (a: Shown, b: Shown): boolean =>
  a.begin.getTime() === b.begin.getTime() && a.end.getTime() === b.end.getTime();

/** An event that is only thought of: what a drag over empty hours or days makes. */
export function thought(begin: Date, end: Date, allDay: boolean): Shown {
  return shownOf({
    ...timesOf(begin, end, allDay),
    id: "new",
    event: "new",
    title: t("New event"),
    all_day: allDay,
    description: "",
    location: "",
    event_type: "other",
    zone: "",
    starts_at: "",
    ends_at: "",
    attendees: [],
    reminders: [],
    recurrence: null,
    recurrence_words: null,
    is_series: false,
    is_changed: false,
    status: "confirmed",
    busy: true,
    categories: [],
    color: "",
    links: [],
    conversation: null,
    conflicts: [],
    account: null,
    created_at: "",
    updated_at: "",
    untrusted: false,
    version: 0,
  });
}

/** All with one in another place, or added. */
export function withDraft(all: readonly Shown[], draft: Shown | null): readonly Shown[] {
  return draft ? [...all.filter(({ event }) => event.id !== draft.event.id), draft] : all;
}
