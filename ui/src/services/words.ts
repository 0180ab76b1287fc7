// Times, sizes and reasons in words.
import type { StopReason } from "../api/types";
import { locale, t } from "../i18n";

const DAY_MS = 86_400_000;
const startOfDay = (time: number) => new Date(time).setHours(0, 0, 0, 0);

/** Made once each: a growing answer asks for the same dates in every frame, and making one takes longer than all its text. */
const formats = new Map<string, Intl.DateTimeFormat>();

/** A date in the reader's language. */
function dated(date: Date, options: Intl.DateTimeFormatOptions): string {
  const key = JSON.stringify([locale(), options]);
  const format = formats.get(key) ?? new Intl.DateTimeFormat(locale(), options);
  formats.set(key, format);
  return format.format(date);
}

/** Whole calendar days from `time` to `now`, in the reader's time zone; 0 is today. */
export function daysAgo(time: number, now: number): number {
  return Math.round((startOfDay(now) - startOfDay(time)) / DAY_MS);
}

export function dayGroup(time: number, now: number): string {
  const days = daysAgo(time, now);
  if (days <= 0) return t("Today");
  if (days === 1) return t("Yesterday");
  if (days < 7) return t("Earlier this week");
  if (days < 30) return t("Earlier this month");
  const date = new Date(time);
  const sameYear = date.getFullYear() === new Date(now).getFullYear();
  return dated(date, sameYear ? { month: "long" } : { month: "long", year: "numeric" });
}

/** A date as people say it: `14:05` today, `Yesterday`, `3 May`, `3 May 2024`. */
export function shortDate(time: number, now: number = Date.now()): string {
  const date = new Date(time);
  const days = daysAgo(time, now);
  if (days <= 0) return dated(date, { hour: "2-digit", minute: "2-digit" });
  if (days === 1) return t("Yesterday");
  const sameYear = date.getFullYear() === new Date(now).getFullYear();
  return dated(
    date,
    sameYear
      ? { day: "numeric", month: "short" }
      : { day: "numeric", month: "short", year: "numeric" },
  );
}

export const fullDate = (time: number): string =>
  dated(new Date(time), { dateStyle: "long", timeStyle: "short" });

/** With so many digits behind the point, as the reader's language writes it. */
const decimal = (n: number, digits = 1): string =>
  n.toLocaleString(locale() ?? "en", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
    useGrouping: false,
  });

/** `0.1 s`, `12 s`, `2 min 5 s`. */
export function duration(ms: number): string {
  if (ms < 50) return `${Math.max(1, Math.round(ms))} ms`;
  if (ms < 9950) return `${decimal(ms / 1000)} s`;
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

export function count(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString(locale())} ${n === 1 ? one : many}`;
}

/** A file's size as people say it: `840 B`, `12 kB`, `3.4 MB`. */
export function bytes(size: number): string {
  if (size < 1000) return `${size} B`;
  if (size < 999_500) return `${Math.round(size / 1000)} kB`;
  return `${decimal(size / 1_000_000, size < 9_950_000 ? 1 : 0)} MB`;
}

/** Tokens in few signs: `840`, `1.2k`, `128k`. */
export function tokens(n: number): string {
  if (n < 1000) return `${n}`;
  return n < 9950 ? `${decimal(n / 1000)}k` : `${Math.round(n / 1000)}k`;
}

export function money(usd: number): string {
  return usd > 0 && usd < 0.01 ? "< $0.01" : `$${usd.toFixed(2)}`;
}

/** What a reader must know of an end; null where the answer speaks for itself. */
export function endOf(reason: StopReason): string | null {
  const limit = (sentence: string) =>
    `${sentence} ${t("Ask it to continue, or raise the limit in the settings.")}`;
  const sentences: Record<StopReason, string | null> = {
    answered: null,
    awaiting_approval: null,
    client_tools: null,
    cancelled: t("You stopped this answer. Everything until then is kept."),
    failed: t("The answer ended early. Everything until then is kept."),
    interrupted: t("Bethink was stopped during this answer. The part shown here is kept."),
    max_steps: limit(t("The answer reached the limit of steps.")),
    max_tool_calls: limit(t("The answer reached the limit of tool calls.")),
    max_tokens: limit(t("The answer reached the limit of tokens.")),
    max_cost: limit(t("The answer reached the limit of cost.")),
    max_seconds: limit(t("The answer reached the time limit.")),
    repeated_calls: t(
      "The model kept repeating the same tool call, so the answer was stopped. Try other words.",
    ),
    length: t("The answer reached the maximum length of the model. Ask it to continue."),
    content_filter: t("The model’s provider withheld the rest of this answer."),
  };
  return sentences[reason];
}

/** Where something in memory came from, by the kind of its source. */
export function sourceName(kind: string): string {
  const byYou = t("written by you");
  const said = t("from a conversation");
  const names: Record<string, string> = {
    conversation: said,
    message: said,
    tool: t("stored by the agent"),
    import: t("imported"),
    document: t("from a document"),
    person: byYou,
    user: byYou,
    owner: byYou,
  };
  return names[kind] ?? t("from {kind}", { kind });
}
