// Where cards of the board stand, and where they would be put.
import type { Status, Task } from "../../api/tasks";
import { columns } from "../../planner/taskWords";

/** Where a task would be put: before another, or at the end. */
export type Drop = { task: Task; status: Status; before: string | null };

/** The column under a point, and the card that it is above of. */
export function placeUnder(x: number, y: number, carried: string): Omit<Drop, "task"> | null {
  const column = document.elementFromPoint(x, y)?.closest<HTMLElement>("[data-status]");
  if (!column) return null;
  const cards = [...column.querySelectorAll<HTMLElement>("[data-row]")];
  const below = cards.find((card) => {
    const box = card.getBoundingClientRect();
    return card.dataset.row !== carried && y < box.top + box.height / 2;
  });
  return { status: column.dataset.status as Status, before: below?.dataset.row ?? null };
}

type Shown = ReadonlyMap<Status, readonly Task[]>;

/** The id of the task below it in its column; null at the end. */
export function nextOf(shown: Shown, task: Task): string | null {
  const column = shown.get(task.status) ?? [];
  return column[column.findIndex(({ id }) => id === task.id) + 1]?.id ?? null;
}

/** Where an arrow carries a task: a place up or down, or into the column beside; null at an edge. */
export function carriedTo(shown: Shown, task: Task, key: string): Omit<Drop, "task"> | null {
  const column = shown.get(task.status) ?? [];
  const at = column.findIndex(({ id }) => id === task.id);
  const { status } = task;
  if (key === "ArrowUp") return at > 0 ? { status, before: column[at - 1]?.id ?? null } : null;
  if (key === "ArrowDown") {
    return at < column.length - 1 ? { status, before: column[at + 2]?.id ?? null } : null;
  }
  const from = columns.findIndex((each) => each.status === status);
  const to = columns[from + (key === "ArrowLeft" ? -1 : 1)];
  if (!to || from < 0) return null;
  return { status: to.status, before: shown.get(to.status)?.[0]?.id ?? null };
}

/** Puts the focus on the card beside one. */
export function focusBeside(board: HTMLElement | null, row: HTMLElement | null, key: string): void {
  const stacks = [...(board?.querySelectorAll("[data-status]") ?? [])].map((each) => [
    ...each.querySelectorAll<HTMLElement>("[data-row]"),
  ]);
  const column = stacks.findIndex((each) => row && each.includes(row));
  const at = row ? (stacks[column]?.indexOf(row) ?? 0) : 0;
  const isAcross = key === "ArrowLeft" || key === "ArrowRight";
  const by = key === "ArrowUp" || key === "ArrowLeft" ? -1 : 1;
  const beside = isAcross
    ? (by < 0 ? stacks.slice(0, column).reverse() : stacks.slice(column + 1)).find((s) => s.length)
    : stacks[column];
  const card = isAcross ? beside?.[Math.min(at, beside.length - 1)] : beside?.[at + by];
  card?.querySelector<HTMLElement>("a")?.focus();
}
