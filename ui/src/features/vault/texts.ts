// What is read out of a page's text, and small changes of it, wherever it is shown. Pure.

const HEADING = /^ {0,3}(#{1,6})\s+(.+?)\s*#*\s*$/;
const TASK = /^([ \t]*(?:[-*+]|\d+[.)])[ \t]+\[)([ xX])\]/;

export type Heading = { level: number; text: string; line: number };

/** The headings of a text in their order, those in code left out; lines count from 1. */
export function outlineOf(text: string): Heading[] {
  const found: Heading[] = [];
  let fence = "";
  text.split("\n").forEach((line, i) => {
    const mark = /^ {0,3}(```+|~~~+)/.exec(line)?.[1] ?? "";
    if (fence) fence = mark.startsWith(fence) ? "" : fence;
    else if (mark) fence = mark;
    else {
      const [, marks, words] = HEADING.exec(line) ?? [];
      if (marks && words) found.push({ level: marks.length, text: words, line: i + 1 });
    }
  });
  return found;
}

export const headingsOf = (text: string): string[] => outlineOf(text).map((one) => one.text);

/** The text with the task that begins at this place done, or open again; null where there is none. */
export function toggled(text: string, at: number): string | null {
  const [all, before = "", mark] = TASK.exec(text.slice(at)) ?? [];
  if (!all) return null;
  const place = at + before.length;
  return text.slice(0, place) + (mark === " " ? "x" : " ") + text.slice(place + 1);
}

/** The text with front matter to fill in; null where it begins with one. */
export function withFront(text: string): string | null {
  const mark = text.startsWith("\uFEFF") ? "\uFEFF" : "";
  const body = text.slice(mark.length);
  if (/^---[ \t]*\r?(?:\n|$)/.test(body)) return null;
  const end = /^[^\n]*\r\n/.test(body) ? "\r\n" : "\n";
  return `${mark}${["---", "tags: []", "---", ""].join(end)}${body}`;
}
