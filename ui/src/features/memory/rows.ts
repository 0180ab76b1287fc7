// The lines of the list: heads of groups, and memories. Pure.
import type { Memory } from "../../api/types";
import { dayGroup } from "../../services/words";
import { categoryName } from "./words";

export type Line =
  | { kind: "head"; id: string; name: string }
  | { kind: "memory"; id: string; memory: Memory; place: number };

/** Memories under heads by day or category, in the order in which they come; of a search without heads. */
export function linesOf(
  items: readonly Memory[],
  by: "newest" | "category" | null,
  now: number = Date.now(),
): Line[] {
  const lines: Line[] = [];
  /** The names of days, each worked out once: a date in words takes longer than all else here. */
  const days = new Map<number, string>();
  const dayOf = (time: number): string => {
    const date = new Date(time);
    const day = (date.getFullYear() * 12 + date.getMonth()) * 31 + date.getDate();
    const name = days.get(day) ?? dayGroup(time, now);
    days.set(day, name);
    return name;
  };
  let before: string | null = null;
  items.forEach((memory, place) => {
    const name =
      by === "category"
        ? categoryName(memory.category)
        : by === "newest"
          ? dayOf(Date.parse(memory.created_at))
          : null;
    if (name !== null && name !== before) lines.push({ kind: "head", id: `head ${name}`, name });
    before = name;
    lines.push({ kind: "memory", id: memory.id, memory, place });
  });
  return lines;
}

/** The ids from one to another, both with them, in the order of the list. */
export function between(items: readonly Memory[], from: string | null, to: string): string[] {
  const places = [from ?? to, to].map((id) => items.findIndex((item) => item.id === id));
  const [low, high] = [Math.min(...places), Math.max(...places)];
  return low < 0 ? [to] : items.slice(low, high + 1).map(({ id }) => id);
}
