// A long text that was pasted may become a file instead.

const LONG_LINES = 300;
const LONG_CHARS = 15_000;
/** A field that holds more takes a breath for every letter; with 5 MB the page stands still for minutes. */
const MOST_CHARS = 100_000;

export const linesOf = (text: string): number => text.split("\n").length;

export const isLong = (text: string): boolean =>
  text.length >= LONG_CHARS || linesOf(text) >= LONG_LINES;

/** It cannot be kept as text. */
export const isTooLong = (text: string): boolean => text.length > MOST_CHARS;

/** Its name, by what it looks like. */
export function nameOf(text: string): string {
  const begin = text.trimStart().slice(0, 2000);
  const [first = "", second = ""] = begin.split("\n");
  if (/^[[{]/.test(begin) && /^\s*["[{\d\]}tfn-]/.test(begin.slice(1))) return "pasted.json";
  if (/^<(!doctype|html)/i.test(begin)) return "pasted.html";
  const columns = first.split(",").length;
  if (columns > 2 && second.split(",").length === columns) return "pasted.csv";
  return /^(#{1,4} |- |\* )/m.test(begin) ? "pasted.md" : "pasted.txt";
}

export const fileOf = (text: string): File =>
  new File([text], nameOf(text), { type: "text/plain" });
