// Calendar days and times on the reader's own clock: pure, so that a day of 23 or 25 hours can be tested.

/** `YYYY-MM-DD`. */
export type Day = string;

const two = (n: number) => String(n).padStart(2, "0");

export const dayOf = (date: Date): Day =>
  `${String(date.getFullYear()).padStart(4, "0")}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;

export const isDay = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(text) && dayOf(dateOf(text)) === text;

/** The moment at which the reader's clock shows this, `minutes` after the day began by it. */
export function dateOf(day: Day, minutes = 0): Date {
  const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
  const at = new Date(2000, 0, 1, 0, minutes);
  at.setFullYear(year, month - 1, date + Math.floor(minutes / MINUTES_OF_DAY));
  return at;
}

export const MINUTES_OF_DAY = 1440;

/** What the clock shows, in minutes since midnight. */
export const minutesOf = (date: Date): number => date.getHours() * 60 + date.getMinutes();

export const addDays = (day: Day, n: number): Day => dayOf(dateOf(day, n * MINUTES_OF_DAY));

/** Whole days from one to the other. */
export function daysBetween(from: Day, to: Day): number {
  const utc = (day: Day) => Date.parse(`${day}T00:00:00Z`);
  return Math.round((utc(to) - utc(from)) / 86_400_000);
}

/** The same date of another month, or its last one. */
export function addMonths(day: Day, n: number): Day {
  const at = dateOf(day);
  const last = new Date(at.getFullYear(), at.getMonth() + n + 1, 0).getDate();
  return dayOf(new Date(at.getFullYear(), at.getMonth() + n, Math.min(at.getDate(), last)));
}

/** The clock's time moved by days and minutes; both hands keep going over a change of the clock. */
export const shifted = (date: Date, days: number, minutes: number): Date =>
  dateOf(addDays(dayOf(date), days), minutesOf(date) + minutes);

/** Where weeks begin on a Sunday, for browsers that do not know it. */
const SUNDAY =
  /^(AG|AS|AU|BD|BR|BS|BT|BW|BZ|CA|CN|CO|DM|DO|ET|GT|GU|HK|HN|ID|IL|IN|JM|JP|KE|KH|KR|LA|MH|MM|MO|MT|MX|MZ|NI|NP|PA|PE|PH|PK|PR|PT|PY|SA|SG|SV|TH|TT|TW|UM|US|VE|VI|WS|YE|ZA|ZW)$/;

/** The first day of a week, 0 for Sunday to 6, as the reader's language and region have it. */
export function firstWeekday(language: string): number {
  const locale = new Intl.Locale(language) as Intl.Locale & {
    getWeekInfo?: () => { firstDay: number };
    weekInfo?: { firstDay: number };
  };
  const known = locale.getWeekInfo?.() ?? locale.weekInfo;
  if (known) return known.firstDay % 7;
  return SUNDAY.test(locale.maximize().region ?? "") ? 0 : 1;
}

export function startOfWeek(day: Day, first: number): Day {
  return addDays(day, -((dateOf(day).getDay() - first + 7) % 7));
}

export const weekOf = (day: Day, first: number): readonly Day[] =>
  range(startOfWeek(day, first), 7);

export const range = (day: Day, length: number): readonly Day[] =>
  Array.from({ length }, (_, i) => addDays(day, i));

/** The whole weeks that show a month. */
export function weeksOfMonth(day: Day, first: number): readonly (readonly Day[])[] {
  const begin = startOfWeek(`${day.slice(0, 7)}-01`, first);
  const last = addDays(addMonths(`${day.slice(0, 7)}-01`, 1), -1);
  const weeks = Math.floor(daysBetween(begin, last) / 7) + 1;
  return Array.from({ length: weeks }, (_, i) => range(addDays(begin, i * 7), 7));
}

/** RFC 3339 with the offset that the reader's clock has then. */
export function rfc3339(date: Date): string {
  const offset = -date.getTimezoneOffset();
  const sign = offset < 0 ? "-" : "+";
  const away = Math.abs(offset);
  return `${dayOf(date)}T${clock(date)}:${two(date.getSeconds())}${sign}${two(Math.floor(away / 60))}:${two(away % 60)}`;
}

/** `HH:MM`, as form fields have it. */
export const clock = (date: Date): string => `${two(date.getHours())}:${two(date.getMinutes())}`;

/** Minutes of a form field's `HH:MM`. */
export function minutesIn(text: string): number {
  const [hours = 0, minutes = 0] = text.split(":").map(Number);
  return hours * 60 + minutes;
}

export const browserZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

const words = (options: Intl.DateTimeFormatOptions) => (date: Date) =>
  date.toLocaleString(undefined, options);

export const timeWords = words({ hour: "2-digit", minute: "2-digit" });
export const longDay = words({ weekday: "long", day: "numeric", month: "long", year: "numeric" });
export const plainDay = words({ weekday: "long", day: "numeric", month: "long" });
export const shortDay = words({ weekday: "short", day: "numeric", month: "short" });
export const weekdayName = words({ weekday: "short" });
export const monthName = words({ month: "long", year: "numeric" });

/** The same moment as a clock in another zone shows it; null if there is no such zone. */
export function inZone(date: Date, zone: string): string | null {
  try {
    return date.toLocaleString(undefined, {
      timeZone: zone,
      weekday: "short",
      hour: "2-digit",
      minute: "2-digit",
    });
  } catch {
    return null;
  }
}
