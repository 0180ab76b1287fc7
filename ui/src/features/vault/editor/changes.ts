// What makes of one text another, as changes of the editor: the caret and what is undone stay where they are. Pure.
import type { ChangeSpec, Text } from "@codemirror/state";
import { diffArrays } from "diff";

const MOST_EDITS = 300;

const common = (a: readonly string[], b: readonly string[], isEnd: boolean, most: number) => {
  let n = 0;
  while (n < most && a.at(isEnd ? -1 - n : n) === b.at(isEnd ? -1 - n : n)) n += 1;
  return n;
};

/** Lines of the old text that become others: from one to before another, counted from 0. */
type Hunk = { from: number; to: number; lines: readonly string[] };

function hunks(old: readonly string[], fresh: readonly string[]): Hunk[] {
  const most = Math.min(old.length, fresh.length);
  const head = common(old, fresh, false, most);
  const tail = common(old, fresh, true, most - head);
  const [a, b] = [old.slice(head, old.length - tail), fresh.slice(head, fresh.length - tail)];
  if (!a.length && !b.length) return [];
  const whole = [{ from: head, to: head + a.length, lines: b }];
  const parts = diffArrays(a, b, { maxEditLength: MOST_EDITS });
  if (!parts) return whole;
  const found: Hunk[] = [];
  let at = head;
  for (const { added, removed, value } of parts) {
    const last = found.at(-1);
    if (removed) found.push({ from: at, to: at + value.length, lines: [] });
    else if (added && last?.to === at) last.lines = value;
    else if (added) found.push({ from: at, to: at, lines: value });
    if (!added) at += value.length;
  }
  return found;
}

/** The changes of a document that make it these lines. */
export function changesTo(doc: Text, fresh: readonly string[]): ChangeSpec[] {
  const old = doc.toJSON();
  return hunks(old, fresh).map(({ from, to, lines }) => {
    const text = lines.join("\n");
    if (to < old.length) {
      const start = doc.line(from + 1).from;
      return { from: start, to: doc.line(to + 1).from, insert: lines.length ? `${text}\n` : "" };
    }
    // At the end there is no line behind; the end of the line before goes or comes with them.
    if (from === 0) return { from: 0, to: doc.length, insert: text };
    const start = doc.line(from).to;
    return { from: start, to: doc.length, insert: lines.length ? `\n${text}` : "" };
  });
}
