// Tables as text, and back. CSV as in RFC 4180.
export type Rows = readonly (readonly string[])[];

/** What a spreadsheet would take for a formula is text, as OWASP describes for "CSV injection". */
const FORMULA = /^[=+@\t\r]|^-(?![\d.,\s]*$)/;

const cell = (text: string) => {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

export const asCsv = (rows: Rows): string =>
  rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");

export function asMarkdown(rows: Rows): string {
  const line = (row: readonly string[]) =>
    `| ${row.map((text) => text.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
  const [head = [], ...body] = rows;
  return [line(head), line(head.map(() => "---")), ...body.map(line), ""].join("\n");
}

const MARKS = [",", ";", "\t"];

/** The mark between the cells: the one that the first line has most of. */
function markOf(text: string): string {
  const first = text.slice(0, text.indexOf("\n") >>> 0);
  const count = (mark: string) => first.split(mark).length;
  return MARKS.reduce((best, mark) => (count(mark) > count(best) ? mark : best), ",");
}

/** The rows of a CSV text; quotes that are never closed take the rest. */
export function rowsOf(text: string): string[][] {
  const mark = markOf(text);
  const rows: string[][] = [];
  let row: string[] = [];
  let at = 0;
  while (at < text.length) {
    const { value, next } = text[at] === '"' ? quoted(text, at + 1) : plain(text, at, mark);
    row.push(value);
    const isMore = text[next] === mark;
    at = next + 1;
    if (isMore && at < text.length) continue;
    if (isMore) row.push("");
    if (text[next] === "\r" && text[at] === "\n") at += 1;
    rows.push(row);
    row = [];
  }
  return rows;
}

function quoted(text: string, begin: number): { value: string; next: number } {
  let at = text.indexOf('"', begin);
  while (at >= 0 && text[at + 1] === '"') at = text.indexOf('"', at + 2);
  const end = at < 0 ? text.length : at;
  const rest = /[,;\t\r\n]/g;
  rest.lastIndex = end + 1;
  const next = rest.exec(text)?.index ?? text.length;
  return { value: text.slice(begin, end).replaceAll('""', '"'), next };
}

function plain(text: string, begin: number, mark: string): { value: string; next: number } {
  let next = begin;
  while (next < text.length && text[next] !== mark && !"\r\n".includes(text[next] ?? "")) next += 1;
  return { value: text.slice(begin, next), next };
}
