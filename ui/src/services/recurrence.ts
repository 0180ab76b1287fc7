// Recurrence rules (RFC 5545, 3.3.10) in the reader's language. English is said by the server.
import { locale, t } from "../i18n";

type Parts = Readonly<Record<string, string>>;

const WEEK = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"];
/** A Monday, and the first day of a year. */
const [MONDAY, NEW_YEAR] = [new Date(2024, 0, 1), new Date(2024, 0, 1)];

const partsOf = (rule: string): Parts =>
  Object.fromEntries(
    rule
      .replace(/^RRULE:/i, "")
      .split(";")
      .map((part) => part.toUpperCase().split("=") as [string, string]),
  );
const numbers = (text: string | undefined) => text?.split(",").map(Number) ?? [];
const list = (words: readonly string[], type: "conjunction" | "disjunction" = "conjunction") =>
  new Intl.ListFormat(locale(), { type }).format(words);
const dayName = (index: number) => {
  const day = new Date(MONDAY);
  day.setDate(day.getDate() + index);
  return day.toLocaleDateString(locale(), { weekday: "long" });
};
const monthName = (month: number) =>
  new Date(2024, month - 1, 1).toLocaleDateString(locale(), { month: "long" });

const intervals: Readonly<Record<string, (count: number) => string>> = {
  YEARLY: (count) => t("{count, plural, one {every year} other {every # years}}", { count }),
  MONTHLY: (count) => t("{count, plural, one {every month} other {every # months}}", { count }),
  WEEKLY: (count) => t("{count, plural, one {every week} other {every # weeks}}", { count }),
  DAILY: (count) => t("{count, plural, one {every day} other {every # days}}", { count }),
  HOURLY: (count) => t("{count, plural, one {every hour} other {every # hours}}", { count }),
  MINUTELY: (count) => t("{count, plural, one {every minute} other {every # minutes}}", { count }),
};

/** The second Friday, the last day: `what` is the day. */
function nth(number: number, what: string): string {
  if (number === -1) return t("last {what}", { what });
  return number < 0
    ? t("{number}th last {what}", { number: -number, what })
    : t("{number}th {what}", { number, what });
}

function weekdays(parts: Parts): string {
  const days = parts.BYDAY?.split(",") ?? [];
  if (!days.length) return "";
  const named = days.map((day) => {
    const name = dayName(WEEK.indexOf(day.slice(-2)));
    const number = Number.parseInt(day, 10);
    return Number.isNaN(number) ? name : nth(number, name);
  });
  const isWork = [...days].sort().join() === [...WEEK.slice(0, 5)].sort().join();
  const positions = numbers(parts.BYSETPOS);
  if (positions.length) {
    const names = isWork ? t("weekday") : list(named, "disjunction");
    return t("on the {days}", { days: list(positions.map((each) => nth(each, names))) });
  }
  return isWork ? t("on weekdays") : t("on {days}", { days: list(named) });
}

function monthDays(parts: Parts): string {
  const days = numbers(parts.BYMONTHDAY);
  if (!days.length) return "";
  return t("on the {days}", { days: list(days.map((each) => nth(each, t("day")))) });
}

/** One day of one month, as a birthday is. */
function birthday(parts: Parts): string {
  const [months, days] = [numbers(parts.BYMONTH), numbers(parts.BYMONTHDAY)];
  const [month = 0, day = 0] = [months[0], days[0]];
  if (parts.FREQ !== "YEARLY" || months.length !== 1 || days.length !== 1 || day < 1) return "";
  const date = new Date(NEW_YEAR.getFullYear(), month - 1, day);
  return t("on {days}", {
    days: date.toLocaleDateString(locale(), { day: "numeric", month: "long" }),
  });
}

function clocks(parts: Parts): string {
  const [hours, minutes] = [numbers(parts.BYHOUR), numbers(parts.BYMINUTE)];
  if (!hours.length)
    return minutes.length ? t("at minute {minutes}", { minutes: list(minutes.map(String)) }) : "";
  const times = hours.flatMap((hour) =>
    (minutes.length ? minutes : [0]).map(
      (minute) => `${String(hour).padStart(2, "0")}:${String(minute).padStart(2, "0")}`,
    ),
  );
  return t("at {times}", { times: list(times) });
}

function end(parts: Parts): string {
  if (parts.COUNT)
    return t("{count, plural, one {once} other {# times}}", { count: Number(parts.COUNT) });
  const [, year, month, day] = /^(\d{4})(\d{2})(\d{2})/.exec(parts.UNTIL ?? "") ?? [];
  if (!year) return "";
  const date = new Date(Number(year), Number(month) - 1, Number(day));
  return t("until {date}", { date: date.toLocaleDateString(locale(), { dateStyle: "long" }) });
}

function inPeriod(parts: Parts): string[] {
  const [months, weeks] = [numbers(parts.BYMONTH), numbers(parts.BYWEEKNO)];
  const days = numbers(parts.BYYEARDAY);
  return [
    days.length
      ? t("on the {days} of the year", { days: list(days.map((each) => nth(each, t("day")))) })
      : "",
    months.length ? t("in {months}", { months: list(months.map(monthName)) }) : "",
    weeks.length ? t("in week {weeks}", { weeks: list(weeks.map(String)) }) : "",
  ];
}

/** How often it is: `english` is what the server says of the rule. */
export function recurrenceWords(
  rule: string | null | undefined,
  english: string | null | undefined,
): string {
  const parts = partsOf(rule ?? "");
  const interval = intervals[parts.FREQ ?? ""];
  if (!locale() || !interval) return english ?? "";
  const count = Number(parts.INTERVAL ?? 1);
  const days = weekdays(parts);
  const once = birthday(parts);
  const isWorkday =
    count === 1 && days === t("on weekdays") && /DAILY|WEEKLY/.test(parts.FREQ ?? "");
  const said = [
    isWorkday ? t("every weekday") : interval(count),
    isWorkday ? "" : days,
    once || monthDays(parts),
    ...(once ? [] : inPeriod(parts)),
    clocks(parts),
  ];
  return [said.filter(Boolean).join(" "), end(parts)].filter(Boolean).join(", ");
}
