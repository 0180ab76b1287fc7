// Memories in words: their categories, states, times and sources.
import type { Memory, MemoryDoubt, MemorySource } from "../../api/types";
import { locale, t } from "../../i18n";
import { shortDate } from "../../services/words";

/** The categories that the agent is taught; others are possible and shown as they are. */
export const taught = ["preferences", "personal_info", "goals", "plans", "context", "general"];

export function categoryName(category: string): string {
  const known: Record<string, string> = {
    preferences: t("Preferences"),
    personal_info: t("About you"),
    goals: t("Goals"),
    plans: t("Plans"),
    context: t("Context"),
    general: t("General"),
  };
  const words = category.replaceAll("_", " ");
  return known[category] ?? words.charAt(0).toLocaleUpperCase() + words.slice(1);
}

/** Whom a memory is about; relatives and pets are named by one word each, others as they are called. */
export function personName(about: string): string {
  const known: Record<string, string> = {
    owner: t("You"),
    sister: t("Sister"),
    brother: t("Brother"),
    mother: t("Mother"),
    father: t("Father"),
    parents: t("Parents"),
    wife: t("Wife"),
    husband: t("Husband"),
    partner: t("Partner"),
    daughter: t("Daughter"),
    son: t("Son"),
    child: t("Child"),
    friend: t("Friend"),
    colleague: t("Colleague"),
    boss: t("Boss"),
    dog: t("Dog"),
    cat: t("Cat"),
    pet: t("Pet"),
    project: t("Project"),
  };
  return known[about] ?? about;
}

export const states = () =>
  [
    { value: "active", label: t("Current") },
    { value: "suggested", label: t("Suggested") },
    { value: "superseded", label: t("No longer true") },
    { value: "corrected", label: t("Was never true") },
    { value: "merged", label: t("Merged into another") },
    { value: "retracted", label: t("Retracted") },
  ] as const;

/** What a memory's state means, in a word or two. */
export const stateName = (state: Memory["state"]): string =>
  state === "suggested"
    ? t("Waiting for your review")
    : (states().find(({ value }) => value === state)?.label ?? state);

/** Where a memory came from, by the kind of its source. */
export function sourceName(kind: string): string {
  const known: Record<string, string> = {
    conversation: t("from a conversation"),
    message: t("from a conversation"),
    tool: t("stored by the agent"),
    import: t("imported"),
    document: t("from a document"),
    vault: t("from a page"),
    person: t("written by you"),
    user: t("written by you"),
    owner: t("written by you"),
  };
  return known[kind] ?? t("from {kind}", { kind });
}

/** Where a memory came from and when it was learnt, for a row's tip. */
export function origin({ sources, created_at: at }: Memory): string {
  const [source] = sources;
  return [source && sourceName(source.kind), shortDate(Date.parse(at))].filter(Boolean).join(" · ");
}

/** The conversation that a source names; null if it is no conversation. */
export const talkOf = (source: MemorySource | undefined): string | null =>
  source?.kind === "conversation" ? source.id : null;

/**
 * A time as exactly as it was said. The first of January is the year alone and the first of a month the month,
 * unless the words name the day: "since 1984" is stored as its first day.
 */
export function spoken(time: string, content: string): string {
  const date = new Date(time);
  const near = [date.getDate(), new Date(date.getTime() + 12 * 3_600_000).getDate()];
  const isFirst = near.includes(1) && !/\b(?:0?1(?:st|\.)?|first|ersten)\b/i.test(content);
  if (!isFirst) return shortDate(date.getTime());
  // Midnight in another zone may be the evening before here.
  const there = new Date(date.getTime() + 12 * 3_600_000);
  const isYear =
    there.getMonth() === 0 && !/\bjan(?:uary|uar)?\b|-01\b|\b0?1\/|\.0?1\./i.test(content);
  return there.toLocaleDateString(
    locale(),
    isYear ? { year: "numeric" } : { month: "long", year: "numeric" },
  );
}

/** When it was true, as far as that is known: "since 3 May 2024", "until 2019". */
export function validity({ valid_from: from, valid_until: until, content }: Memory): string {
  const [low, high] = [from, until].map((time) => time && spoken(time, content));
  if (low && high) return t("from {low} until {high}", { low, high });
  if (low) return t("since {low}", { low });
  return high ? t("until {high}", { high }) : "";
}

export function doubtName(kind: MemoryDoubt["kind"]): string {
  if (kind === "contradicts") return t("Contradicted by another memory");
  if (kind === "depends") return t("Based on something that has changed");
  return t("May no longer be true");
}

/** What was done, in the words of a story. */
export function changeName(change: string): string {
  const known: Record<string, string> = {
    added: t("Learnt"),
    merged: t("Changed in place, or said again"),
    superseded: t("Changed"),
    corrected: t("Corrected"),
    suggested: t("Suggested"),
    retracted: t("Retracted"),
    restored: t("Brought back"),
    imported: t("Imported"),
    consolidated: t("Duplicates were merged"),
    reflected: t("Tidied up"),
    expired: t("Too old: retracted"),
    undone: t("Undone"),
  };
  return known[change] ?? change;
}

/** Whether a memory's words are Markdown or hold a formula: several lines, marks, links. */
export const isFormatted = (content: string): boolean =>
  /\n|\*\*|`|\$[^$\s][^$]*\$|\\\(|\[[^\]]+\]\([^)]+\)/.test(content);

/** The words of a query that are worth marking in what was found. */
export const wordsOf = (query: string): string[] =>
  query
    .toLocaleLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length > 2);

/** A text in parts, those marked that begin like a word of the query. */
export function marked(
  text: string,
  words: readonly string[],
): { text: string; isMarked: boolean }[] {
  if (!words.length) return [{ text, isMarked: false }];
  return text
    .split(/([\p{L}\p{N}]+)/u)
    .filter(Boolean)
    .map((part) => {
      const lower = part.toLocaleLowerCase();
      const isMarked =
        part.length > 2 &&
        words.some(
          (word) => lower.startsWith(word) || (lower.length > 3 && word.startsWith(lower)),
        );
      return { text: part, isMarked };
    });
}
