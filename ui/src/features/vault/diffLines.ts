// A unified diff as lines to show, and the difference of two texts. Pure.

export type DiffLine = { kind: "same" | "added" | "removed" | "place"; text: string };

/** The lines of a unified diff, without its two lines of names. */
export function linesOf(diff: string): DiffLine[] {
  const found: DiffLine[] = [];
  for (const line of diff.split("\n").slice(0, -1)) {
    if (line.startsWith("@@")) found.push({ kind: "place", text: "" });
    else if (found.length === 0 || line.startsWith("\\")) continue;
    else if (line.startsWith("+")) found.push({ kind: "added", text: line.slice(1) });
    else if (line.startsWith("-")) found.push({ kind: "removed", text: line.slice(1) });
    else found.push({ kind: "same", text: line.slice(1) });
  }
  return found.slice(1);
}

const same = (a: readonly string[], b: readonly string[], from: "start" | "end", most: number) => {
  let n = 0;
  const at = (list: readonly string[]) => (from === "start" ? list[n] : list[list.length - 1 - n]);
  while (n < most && at(a) === at(b)) n += 1;
  return n;
};

/** The lines of `old` that became others: those from `start` to `end` are now `lines`. */
function change(old: readonly string[], fresh: readonly string[]) {
  const start = same(old, fresh, "start", Math.min(old.length, fresh.length));
  const tail = same(old, fresh, "end", Math.min(old.length, fresh.length) - start);
  return { start, end: old.length - tail, lines: fresh.slice(start, fresh.length - tail) };
}

/** Two changes of one text in a third; null where they meet, since then somebody has to choose. */
export function merged(base: string, one: string, other: string): string | null {
  const old = base.split("\n");
  const [first, second] = [change(old, one.split("\n")), change(old, other.split("\n"))].toSorted(
    (a, b) => a.start - b.start || a.end - b.end,
  );
  if (!first || !second || first.end >= second.start) return null;
  return [
    ...old.slice(0, first.start),
    ...first.lines,
    ...old.slice(first.end, second.start),
    ...second.lines,
    ...old.slice(second.end),
  ].join("\n");
}

/** What differs between two texts: the lines between what is the same at both ends. */
export function differing(old: string, fresh: string): DiffLine[] {
  const a = old.split("\n");
  const b = fresh.split("\n");
  const { start, end, lines } = change(a, b);
  return [
    ...a.slice(start, end).map((text): DiffLine => ({ kind: "removed", text })),
    ...lines.map((text): DiffLine => ({ kind: "added", text })),
  ];
}
