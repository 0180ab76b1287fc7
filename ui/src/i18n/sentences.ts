// Sentences of the server, which are English, found in a catalogue: as they stand, or by the places that they fill in.

/** A sentence with places, such as "There is a user {name} already.", and how to read what fills them. */
type Pattern = { sentence: string; form: RegExp; names: readonly string[]; letters: number };

/** Places with these names hold further sentences of the server's, any others the words of somebody. */
const SENTENCES = /^(why|and)/;

const PLACE = /\{(\w+)\}/g;
const NUMBER = /^\d{1,3}(,\d{3})+$/;

function patternOf(sentence: string): Pattern {
  const names = [...sentence.matchAll(PLACE)].map(([, name]) => name ?? "");
  const parts = sentence.split(PLACE).filter((_, at) => at % 2 === 0);
  const form = parts
    .map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"))
    .join("([\\s\\S]*?)");
  return { sentence, form: new RegExp(`^${form}$`), names, letters: parts.join("").length };
}

/** Says sentences of the server's by a catalogue; `say` is the page's own `t`. */
export function teller(
  catalogue: Record<string, string>,
  sentences: readonly string[],
  say: (sentence: string, values?: Record<string, unknown>) => string,
) {
  // The one that says most by itself fits best.
  const patterns = sentences
    .filter((each) => each.includes("{"))
    .map(patternOf)
    .sort((a, b) => b.letters - a.letters);
  const known = new Map<string, string>();

  function whole(text: string): string | null {
    if (!text || text.includes("\n")) return null;
    if (text in catalogue && !text.includes("{")) return say(text);
    for (const { sentence, form, names } of patterns) {
      const found = form.exec(text);
      if (!found) continue;
      const values = names.map((name, at) => [name, filled(name, found[at + 1] ?? "")]);
      return say(sentence, Object.fromEntries(values));
    }
    return null;
  }

  const filled = (name: string, text: string): string => {
    if (SENTENCES.test(name)) return text.replace(/\S[\s\S]*/, told);
    return NUMBER.test(text) ? Number(text.replaceAll(",", "")).toLocaleString("de") : text;
  };

  /** A line of a list: what somebody wrote stands in it as it is. */
  function line(text: string): string {
    const [, mark = "", bold = "", words = ""] =
      /^(- )?(\*\*)?([\s\S]*?)(?:\*\*)?$/.exec(text) ?? [];
    const isOurs =
      !mark || bold || /^(said: |on the page |in the record of |and [\d,]+ more$)/.test(words);
    return isOurs ? `${mark}${bold}${told(words)}${bold}` : text;
  }

  /** Sentences that stand together, each by itself. */
  function parts(text: string): string {
    if (text.includes("\n")) return text.split("\n").map(line).join("\n");
    for (const between of ["; ", /(?<=[.!?]) (?=\p{Lu}|“)/u]) {
      const split = text.split(between);
      if (split.length > 1)
        return split.map(told).join(typeof between === "string" ? between : " ");
    }
    return text;
  }

  function told(text: string): string {
    const before = known.get(text);
    if (before !== undefined) return before;
    const said = whole(text) ?? parts(text);
    known.set(text, said);
    return said;
  }
  return told;
}
