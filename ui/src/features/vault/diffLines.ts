// A unified diff as lines to show, and the difference of two texts. Pure.
import { diffArrays } from "diff";

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

/** So many lines around what differs are shown. */
const AROUND = 2;
/** More edits than these are not looked for: all between what is the same at both ends is one. */
const MOST_EDITS = 400;

/** What differs between two texts, with a little of what is the same around it. */
export function differing(old: string, fresh: string): DiffLine[] {
  const [a, b] = [old.split("\n"), fresh.split("\n")];
  const parts = diffArrays(a, b, { maxEditLength: MOST_EDITS });
  if (!parts) {
    const { start, end, lines } = change(a, b);
    return [...said("removed", a.slice(start, end)), ...said("added", lines)];
  }
  return parts.flatMap(({ added, removed, value }, i): DiffLine[] => {
    if (added || removed) return said(added ? "added" : "removed", value);
    const head = i > 0 ? value.slice(0, AROUND) : [];
    const tail =
      i < parts.length - 1 ? value.slice(Math.max(head.length, value.length - AROUND)) : [];
    const isCut = head.length + tail.length < value.length && i > 0 && i < parts.length - 1;
    return [...said("same", head), ...(isCut ? said("place", [""]) : []), ...said("same", tail)];
  });
}

const said = (kind: DiffLine["kind"], lines: readonly string[]): DiffLine[] =>
  lines.map((text) => ({ kind, text }));
