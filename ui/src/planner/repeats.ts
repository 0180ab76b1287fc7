// Rules of recurrence as plain choices. Pure; whatever is no plain choice stays as it is written.
import { t } from "../i18n";
import { type Day, dateOf } from "../services/days";

export type Plain =
  | "none"
  | "daily"
  | "weekdays"
  | "weekly"
  | "fortnightly"
  | "monthly"
  | "nth"
  | "yearly";
export type Repeat = {
  every: Plain | "own";
  /** A rule, or words, if it is one's own. */
  own: string;
  ends: "never" | "until" | "count";
  until: Day;
  count: number;
};

const DAYS = ["SU", "MO", "TU", "WE", "TH", "FR", "SA"];
const DAY_NAMES = [
  t("Sunday"),
  t("Monday"),
  t("Tuesday"),
  t("Wednesday"),
  t("Thursday"),
  t("Friday"),
  t("Saturday"),
];

/** Which of its weekday in the month a day is: 1 to 4, or -1 for the last. */
function nthOf(day: Day): number {
  const nth = Math.ceil(Number(day.slice(8)) / 7);
  return nth > 4 ? -1 : nth;
}

const code = (day: Day) => DAYS[dateOf(day).getDay()] ?? "MO";
const name = (day: Day) => DAY_NAMES[dateOf(day).getDay()] ?? t("Monday");

const rules: Record<Exclude<Plain, "none">, (day: Day) => string> = {
  daily: () => "FREQ=DAILY",
  weekdays: () => "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR",
  weekly: (day) => `FREQ=WEEKLY;BYDAY=${code(day)}`,
  fortnightly: (day) => `FREQ=WEEKLY;INTERVAL=2;BYDAY=${code(day)}`,
  monthly: (day) => `FREQ=MONTHLY;BYMONTHDAY=${Number(day.slice(8))}`,
  nth: (day) => `FREQ=MONTHLY;BYDAY=${nthOf(day)}${code(day)}`,
  yearly: () => "FREQ=YEARLY",
};

/** The choices for something on this day. */
export function choicesFor(day: Day): readonly { value: Plain; label: string }[] {
  const nth = nthOf(day);
  return [
    { value: "none", label: t("Does not repeat") },
    { value: "daily", label: t("Every day") },
    { value: "weekdays", label: t("Every weekday") },
    { value: "weekly", label: t("Every {name}", { name: name(day) }) },
    { value: "fortnightly", label: t("Every other {name}", { name: name(day) }) },
    { value: "monthly", label: t("Every month on day {number}", { number: Number(day.slice(8)) }) },
    {
      value: "nth",
      label: t(
        "Every {nth, select, 1 {first} 2 {second} 3 {third} 4 {fourth} other {last}} {name} of the month",
        { nth, name: name(day) },
      ),
    },
    { value: "yearly", label: t("Every year") },
  ];
}

const partsOf = (rule: string) =>
  rule
    .replace(/^RRULE:/i, "")
    .toUpperCase()
    .split(";")
    .filter(Boolean);

const isEnd = (part: string) => /^(UNTIL|COUNT)=/.test(part);
/** What a rule says of itself when it is said already by the day that it begins on. */
const bare = (rule: string) =>
  partsOf(rule)
    .filter((part) => !isEnd(part) && part !== "INTERVAL=1" && !part.startsWith("WKST="))
    .toSorted()
    .join(";");

export function repeatOf(rule: string | null, day: Day): Repeat {
  const none: Repeat = { every: "none", own: "", ends: "never", until: day, count: 10 };
  if (!rule) return none;
  const parts = partsOf(rule);
  const [, year, month, date] = /^UNTIL=(\d{4})(\d\d)(\d\d)/.exec(parts.find(isEnd) ?? "") ?? [];
  const [, times] = /^COUNT=(\d+)/.exec(parts.find(isEnd) ?? "") ?? [];
  const ends = year ? "until" : times ? "count" : "never";
  const end = {
    ends,
    until: year ? `${year}-${month}-${date}` : day,
    count: Number(times ?? 10),
  } as const;
  const wanted = bare(rule);
  const short: Record<string, Plain> = { "FREQ=WEEKLY": "weekly", "FREQ=MONTHLY": "monthly" };
  const plain = (Object.keys(rules) as Exclude<Plain, "none">[]).find(
    (each) => bare(rules[each](day)) === wanted,
  );
  const every = plain ?? short[wanted];
  return every ? { ...none, ...end, every } : { ...none, ...end, every: "own", own: rule };
}

/** The rule, "" for none. One's own stays as it was written. */
export function ruleOf(repeat: Repeat, day: Day): string {
  if (repeat.every === "none") return "";
  if (repeat.every === "own") return repeat.own.trim();
  const rule = rules[repeat.every](day);
  if (repeat.ends === "until") return `${rule};UNTIL=${repeat.until.replaceAll("-", "")}`;
  return repeat.ends === "count" ? `${rule};COUNT=${repeat.count}` : rule;
}
