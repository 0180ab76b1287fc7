// A file's text as the lines of the editor and back, byte for byte: its mark of order, its line ends, its last line. Pure.

export type LineEnds = { mark: "" | "\uFEFF"; end: "\n" | "\r\n" };

/** The lines of a text. One with line ends of both kinds keeps the others as characters of its lines. */
export function linesOf(text: string): { lines: string[]; ends: LineEnds } {
  const mark = text.startsWith("\uFEFF") ? "\uFEFF" : "";
  const body = text.slice(mark.length);
  const isWindows = body.includes("\n") && !/(^|[^\r])\n/.test(body);
  const end = isWindows ? "\r\n" : "\n";
  return { lines: body.split(end), ends: { mark, end } };
}

export const textOf = (lines: Iterable<string>, { mark, end }: LineEnds): string =>
  mark + [...lines].join(end);
