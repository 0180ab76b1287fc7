// The tasks in columns by their state, in an order of one's own: carried by the pointer, or by Alt and arrows.
import { type KeyboardEvent, useRef, useState } from "react";
import type { Status, Task } from "../../api/tasks";
import { t } from "../../i18n";
import { useDrag } from "../../kit/useDrag";
import { useListKeys } from "../../kit/useListKeys";
import { columns, statusName } from "../../planner/taskWords";
import { Column } from "./Column";
import type { TaskFilter } from "./filter";
import type { ListProps } from "./TaskList";

/** Where a task would be put: before another, or at the end. */
export type Drop = { task: Task; status: Status; before: string | null };

type BoardProps = ListProps & { filter: TaskFilter };

/** The column under a point, and the card that it is above of. */
function placeUnder(x: number, y: number, carried: string): Omit<Drop, "task"> | null {
  const column = document.elementFromPoint(x, y)?.closest<HTMLElement>("[data-status]");
  if (!column) return null;
  const cards = [...column.querySelectorAll<HTMLElement>("[data-row]")];
  const below = cards.find((card) => {
    const box = card.getBoundingClientRect();
    return card.dataset.row !== carried && y < box.top + box.height / 2;
  });
  return { status: column.dataset.status as Status, before: below?.dataset.row ?? null };
}

export function Board({ filter, changes, selection, current, onOpen }: BoardProps) {
  const board = useRef<HTMLDivElement>(null);
  const shown = useRef(new Map<Status, readonly Task[]>());
  const [drop, setDrop] = useState<Drop | null>(null);
  const all = () => [...shown.current.values()].flat();
  const find = (id: string | undefined) => all().find((each) => each.id === id);
  const place = async ({ task, status, before }: Drop, byKeys = false) => {
    const others = (shown.current.get(status) ?? []).filter(({ id }) => id !== task.id);
    const last = others.at(-1);
    const position = before ? { before } : last ? { after: last.id } : undefined;
    const isMoved = status !== task.status || (position && nextOf(shown.current, task) !== before);
    if (isMoved) {
      const patch = {
        ...(status === task.status ? {} : { status }),
        ...(position ? { position } : {}),
      };
      await changes.change(
        task,
        patch,
        t("“{title}” is in {column}", { title: task.title, column: statusName(status) }),
      );
    }
    setDrop(null);
    if (!byKeys) return;
    requestAnimationFrame(() =>
      board.current?.querySelector<HTMLElement>(`[data-row="${task.id}"] .task-title`)?.focus(),
    );
  };
  const drag = useDrag<Task>({
    take: ({ target }) => {
      const part = target as Element;
      if (part.closest("button, input, select, label")) return null;
      return find(part.closest<HTMLElement>("[data-row]")?.dataset.row) ?? null;
    },
    move: (task, { x, y }) => {
      const to = placeUnder(x, y, task.id);
      if (to) setDrop({ task, ...to });
    },
    drop: (task, { x, y }) => {
      const to = placeUnder(x, y, task.id);
      if (to) void place({ task, ...to });
      else setDrop(null);
    },
    leave: () => setDrop(null),
  });
  const press = (event: KeyboardEvent) => {
    const row = (event.target as Element).closest<HTMLElement>("[data-row]");
    const task = find(row?.dataset.row);
    if (!task || !event.key.startsWith("Arrow")) return;
    event.preventDefault();
    if (!event.altKey) return focusBeside(board.current, row, event.key);
    const to = carriedTo(shown.current, task, event.key);
    if (to) void place({ task, ...to }, true);
  };
  const act = (work: (task: Task) => unknown) => (id: string) => {
    const task = find(id);
    if (task) work(task);
  };
  useListKeys(board, {
    edit: act(onOpen),
    accept: act((task) => changes.toggle(task)),
    remove: act((task) => changes.remove([task])),
  });
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: hears the keys of what is inside
    <div className="board" ref={board} onKeyDown={press} {...drag}>
      {columns.map(({ status, label }) => (
        <Column
          key={status}
          status={status}
          label={label}
          filter={filter}
          drop={drop}
          current={current}
          changes={changes}
          selection={selection}
          onOpen={onOpen}
          onShown={(items) => void shown.current.set(status, items)}
        />
      ))}
    </div>
  );
}

type Shown = ReadonlyMap<Status, readonly Task[]>;

/** The id of the task below it in its column; null at the end. */
function nextOf(shown: Shown, task: Task): string | null {
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
function focusBeside(board: HTMLElement | null, row: HTMLElement | null, key: string): void {
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
  card?.querySelector<HTMLElement>(".task-title")?.focus();
}
