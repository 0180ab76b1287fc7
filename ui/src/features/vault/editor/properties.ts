// The front matter of a page as properties. What is not understood is shown as it is and never rewritten. Pure.
import type { Text } from "@codemirror/state";

export type Property = {
  name: string;
  /** Its first line and the one behind its last, counted from 0 in the front matter. */
  from: number;
  to: number;
  /** null: it can only be changed as text. */
  value: string | readonly string[] | null;
  /** What a list is written as. */
  style: "plain" | "inline" | "block" | "other";
  raw: string;
};

const MOST_LINES = 400;
const KEY = /^([A-Za-z_][\w -]*):(?:[ \t]+(.*))?$/;
const ITEM = /^[ \t]*- +(.*)$/;
/** A text that YAML takes for itself, in a list too. */
const SIMPLE = /^[\p{L}\p{N}_](?:[\p{L}\p{N}\w .;()+/-]*[\p{L}\p{N}\w.()+/-])?$/u;
const QUOTED = /^"((?:[^"\\]|\\["\\])*)"$/;

/** Behind the line that ends the front matter; 0 where there is none. */
export function frontEnd(doc: Text): number {
  if (!/^---[ \t]*\r?$/.test(doc.line(1).text)) return 0;
  for (let n = 2; n <= Math.min(doc.lines, MOST_LINES); n++) {
    const line = doc.line(n);
    if (/^---[ \t]*\r?$/.test(line.text)) return Math.min(doc.length, line.to + 1);
  }
  return 0;
}

function scalar(written: string): string | null {
  const text = written.trim();
  if (text === "" || SIMPLE.test(text)) return text;
  const quoted = QUOTED.exec(text)?.[1];
  return quoted === undefined ? null : quoted.replace(/\\(["\\])/g, "$1");
}

function inlineList(written: string): string[] | null {
  const inner = /^\[(.*)\]$/.exec(written.trim())?.[1];
  if (inner === undefined) return null;
  if (!inner.trim()) return [];
  const found: string[] = [];
  for (const part of inner.split(",")) {
    const one = scalar(part);
    if (!one) return null;
    found.push(one);
  }
  return found;
}

function blockList(lines: readonly string[]): string[] | null {
  const found: string[] = [];
  for (const line of lines) {
    const one = scalar(ITEM.exec(line)?.[1] ?? "#");
    if (!one) return null;
    found.push(one);
  }
  return found;
}

function property(name: string, rest: string, under: readonly string[], from: number): Property {
  const to = from + 1 + under.length;
  const raw = [`${name}:${rest ? ` ${rest}` : ""}`, ...under].join("\n");
  const base = { name, from, to, raw };
  if (under.length) {
    const value = rest.trim() ? null : blockList(under);
    return { ...base, value, style: value ? "block" : "other" };
  }
  const list = inlineList(rest);
  if (list) return { ...base, value: list, style: "inline" };
  const value = scalar(rest);
  return { ...base, value, style: value === null ? "other" : "plain" };
}

/** The properties that the lines between the dashes hold; null where one of them is no property at all. */
export function propertiesOf(lines: readonly string[]): Property[] | null {
  const found: Property[] = [];
  const names = new Set<string>();
  for (let at = 0; at < lines.length; ) {
    const match = KEY.exec(lines[at] ?? "");
    if (!match?.[1] || names.has(match[1])) return null;
    let end = at + 1;
    while (end < lines.length && /^(?:[ \t]+\S|- )/.test(lines[end] ?? "")) end += 1;
    names.add(match[1]);
    found.push(property(match[1], match[2] ?? "", lines.slice(at + 1, end), at));
    at = end;
  }
  return found;
}

function quoted(text: string): string {
  if (text === "" || SIMPLE.test(text)) return text;
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

/** The lines of a property with another value; those of a list stay as it is written. */
export function linesWith(
  { name, style }: Pick<Property, "name" | "style">,
  value: string | readonly string[],
): string[] {
  if (typeof value === "string") return [value === "" ? `${name}:` : `${name}: ${quoted(value)}`];
  if (style === "block" && value.length) {
    return [`${name}:`, ...value.map((one) => `  - ${quoted(one)}`)];
  }
  return [`${name}: [${value.map(quoted).join(", ")}]`];
}
