// Moments that the server says in English, in the reader's language. Pure.
import { locale } from "../i18n";
import { dateOf, isDay, shortDay, timeWords } from "../services/days";
import { recurrenceWords } from "../services/recurrence";

type Moment = {
  /** A day, or a moment by RFC 3339. */
  at?: string | null | undefined;
  allDay?: boolean | undefined;
  recurrence?: string | null | undefined;
};

/** When it is and how often: `english` is what the server says of it. */
export function momentWords(moment: Moment, english: string | null | undefined): string {
  const { at, allDay, recurrence } = moment;
  if (!locale()) return english ?? "";
  if (recurrence) return recurrenceWords(recurrence, english);
  if (!at) return english ?? "";
  if (isDay(at)) return shortDay(dateOf(at));
  const date = new Date(at);
  return allDay ? shortDay(date) : `${shortDay(date)}, ${timeWords(date)}`;
}
