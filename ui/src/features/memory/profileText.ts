// What is known, as prose: the sentences of the memories themselves, addressed to their owner. Pure.
import type { Memory } from "../../api/types";
import { categoryName, validity } from "./words";

export type Sentence = { id: string; text: string; when: string; isDoubted: boolean };
export type Paragraph = {
  category: string;
  name: string;
  sentences: Sentence[];
  from: number;
  until: number;
};

const plural: Record<string, string> = {
  is: "are",
  was: "were",
  has: "have",
  does: "do",
  goes: "go",
};
/** Verbs whose s is part of them, and words that are no verbs. */
const kept = /^(?:focus|discuss|miss|pass|guess|always|sometimes|perhaps)$/;

/** A verb as it follows "you": likes, like; watches, watch; studies, study. */
function asYou(verb: string): string {
  if (plural[verb]) return plural[verb];
  if (kept.test(verb) || !verb.endsWith("s") || verb.endsWith("ss")) return verb;
  if (verb.endsWith("ies") && verb.length > 4) return `${verb.slice(0, -3)}y`;
  if (/(?:ch|sh|ss|x|zz)es$/.test(verb)) return verb.slice(0, -2);
  return verb.slice(0, -1);
}

/** A memory as a sentence to its owner: "User likes tea" is "You like tea."; what is written otherwise stays. */
export function sentenceOf(content: string): string {
  const said = content
    .trim()
    .replace(/^(?:the )?user['’]s\b/i, "Your")
    .replace(
      /^(?:the )?user (\w+)( (?:his|her|their)\b)?/i,
      (_, verb: string, own?: string) => `You ${asYou(verb)}${own ? " your" : ""}`,
    )
    .replace(/\bthe user['’]s\b/gi, "your");
  const first = said.charAt(0).toLocaleUpperCase() + said.slice(1);
  return /[.!?…”"]$/.test(first) ? first : `${first}.`;
}

/** Its words without the date that was noted in brackets behind "in March", if `when` says it. */
function withoutNoted({ content, valid_from }: Memory): string {
  return content.replace(/ \((\d{4}-\d{2}(?:-\d{2})?)\)/g, (noted, date: string) =>
    valid_from?.startsWith(date) ? "" : noted,
  );
}

/** A paragraph a category, the largest first; what matters most, and what is pinned, begins it. */
export function paragraphsOf(memories: readonly Memory[]): Paragraph[] {
  const groups = new Map<string, Memory[]>();
  for (const memory of memories) {
    groups.set(memory.category, [...(groups.get(memory.category) ?? []), memory]);
  }
  return [...groups]
    .toSorted(([, one], [, other]) => other.length - one.length)
    .map(([category, all]) => {
      const times = all.map(({ created_at }) => Date.parse(created_at));
      const sorted = all.toSorted(
        (a, b) =>
          Number(b.pinned) - Number(a.pinned) ||
          b.importance - a.importance ||
          Date.parse(a.created_at) - Date.parse(b.created_at),
      );
      return {
        category,
        name: categoryName(category),
        sentences: sorted.map((memory) => ({
          id: memory.id,
          text: sentenceOf(withoutNoted(memory)),
          // What the sentence says itself is not said again.
          when: /\b(?:since|until|from|in|seit|bis) (?:\w+ )?\d{4}\b/.test(memory.content)
            ? ""
            : validity(memory),
          isDoubted: memory.doubts.length > 0,
        })),
        from: Math.min(...times),
        until: Math.max(...times),
      };
    });
}
