// What is being named at the caret of the composer, and which names fit it.

export type Mark = "/" | "@" | "#";
/** A name that is being typed: from `start`, where its mark stands, to `end`, where the caret is. */
export type Naming = { mark: Mark; query: string; start: number; end: number };

/** A command stands at the very beginning; more words belong to it as long as they lead to something. */
const COMMAND = /^\/([^\n/]{0,80})$/u;
/** A name begins behind a space or at a beginning, and has at most four words. */
const NAME = /(?:^|[\s(„“"])([@#])((?:[^\s@#]{1,60}(?: [^\s@#]{0,60}){0,3})?)$/u;

/** The name that is being typed before the caret; null where there is none. */
export function namingAt(text: string, caret: number): Naming | null {
  const before = text.slice(0, caret);
  const command = COMMAND.exec(before);
  if (command) return { mark: "/", query: command[1] ?? "", start: 0, end: caret };
  const named = NAME.exec(before.slice(-400));
  if (!named) return null;
  const query = named[2] ?? "";
  return { mark: named[1] as Mark, query, start: caret - query.length - 1, end: caret };
}

const folded = (text: string) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
const words = (text: string) =>
  folded(text)
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);

/** How well a name fits what was typed; 0 is not at all. Each word typed has to be in it, in any order. */
export function fitOf(query: string, name: string): number {
  const wanted = words(query);
  if (!wanted.length) return 1;
  const whole = folded(name);
  if (whole.startsWith(folded(query).trim())) return 4;
  const inside = words(name);
  if (wanted.every((word) => inside.some((each) => each.startsWith(word)))) return 3;
  if (wanted.every((word) => whole.includes(word))) return 2;
  return isWithin(wanted.join(""), whole) ? 1 : 0;
}

/** Whether the letters are in it, in their order, and the first of them begins a word. */
function isWithin(letters: string, name: string): boolean {
  if (letters.length < 3) return false;
  const begin = words(name).some((word) => word.startsWith(letters.charAt(0)));
  let at = 0;
  for (const character of name) if (character === letters.charAt(at)) at += 1;
  return begin && at === letters.length;
}

/** Those that fit, the best first; of two that fit alike the earlier one. */
export function fitting<T>(
  items: readonly T[],
  query: string,
  nameOf: (item: T) => string,
  most: number,
): readonly T[] {
  return items
    .map((item, i) => ({ item, i, fit: fitOf(query, nameOf(item)) }))
    .filter(({ fit }) => fit > 0)
    .sort((a, b) => b.fit - a.fit || a.i - b.i)
    .slice(0, most)
    .map(({ item }) => item);
}

/** The text without the name that was typed, and where the caret is then. */
export function without(text: string, { start, end }: Naming): { text: string; caret: number } {
  const rest = text.slice(end);
  const before = text.slice(0, start);
  const joint = before.endsWith(" ") && rest.startsWith(" ") ? rest.slice(1) : rest;
  return { text: before + joint, caret: start };
}
