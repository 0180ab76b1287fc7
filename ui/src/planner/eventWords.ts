// Events in words.
import { browserZone, dayOf, inZone, plainDay, shortDay, timeWords } from "../services/days";
import type { Shown } from "./shown";

export const typeNames: Readonly<Record<string, string>> = {
  meeting: "Meeting",
  appointment: "Appointment",
  reminder: "Reminder",
  deadline: "Deadline",
  birthday: "Birthday",
  holiday: "Holiday",
  personal: "Personal",
  other: "Other",
};

export const typeName = (type: string): string => typeNames[type] ?? type;

/** `Friday 4 December, 09:00 to 10:00`. */
export function whenWords({ event, begin, end, first, last }: Shown): string {
  if (event.all_day) {
    return first === last
      ? plainDay(begin)
      : `${plainDay(begin)} to ${plainDay(new Date(end.getTime() - 1))}`;
  }
  const until = dayOf(end) === first ? timeWords(end) : `${shortDay(end)}, ${timeWords(end)}`;
  return `${plainDay(begin)}, ${timeWords(begin)} to ${until}`;
}

/** When it is by the clock of its own zone, if that is another than the reader's. */
export function elsewhere({ event, begin }: Shown): string | null {
  if (event.all_day || !event.zone || event.zone === browserZone()) return null;
  const there = inZone(begin, event.zone);
  const here = inZone(begin, browserZone());
  return there && there !== here ? `${there} in ${event.zone.replaceAll("_", " ")}` : null;
}

/** What its drawing says beside its title, for those who do not see it. */
export function spoken(one: Shown): string {
  const { event } = one;
  const parts = [
    event.all_day ? `${whenWords(one)}, all day` : whenWords(one),
    event.location,
    event.recurrence_words,
    event.status === "tentative" ? "tentative" : "",
    event.status === "cancelled" ? "cancelled" : "",
    event.conflicts.length ? "overlaps another event" : "",
  ];
  return parts.filter(Boolean).join(", ");
}
