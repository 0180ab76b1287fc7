// The tasks in columns by their state, in an order of one's own: carried by the pointer, or by Alt and arrows.
import { type KeyboardEvent, useRef, useState } from "react";
import type { Status, Task } from "../../api/tasks";
import { t } from "../../i18n";
import { across } from "../../kit/across";
import { PHONE, useMedia } from "../../kit/pieces";
import { useDrag } from "../../kit/useDrag";
import { useListKeys } from "../../kit/useListKeys";
import { columns, statusName } from "../../planner/taskWords";
import { Column } from "./Column";
import type { TaskFilter } from "./filter";
import { carriedTo, type Drop, focusBeside, nextOf, placeUnder } from "./places";
import type { ListProps } from "./TaskList";
import styles from "./Tasks.module.css";

type BoardProps = ListProps & { filter: TaskFilter };

export function Board({ filter, changes, selection, current, onOpen }: BoardProps) {
  const board = useRef<HTMLDivElement>(null);
  /** The columns as they are shown: with what was carried at its new place. */
  const shown = useRef(new Map<Status, readonly Task[]>());
  /** The task that keys carry: the focus goes with it, whichever column it comes up in. */
  const followed = useRef<string | null>(null);
  const phone = useMedia(PHONE);
  const unread = useRef(new Set(columns.map(({ status }) => status)));
  /** What the pointer carries, and moves that are not written yet, or not read again. */
  const [drop, setDrop] = useState<Drop | null>(null);
  const [placed, setPlaced] = useState<readonly Drop[]>([]);
  const moves = useRef<Promise<unknown>>(Promise.resolve());
  const find = (id: string | undefined) =>
    [...shown.current.values()].flat().find((each) => each.id === id);
  /** Shows it there at once, and writes it once the moves before it are written. */
  const place = (to: Drop) => {
    const { task, status, before } = to;
    const last = shown.current.get(status)?.findLast(({ id }) => id !== task.id);
    const position = before ? { before } : last ? { after: last.id } : undefined;
    const said = t("“{title}” is in {column}", { title: task.title, column: statusName(status) });
    setDrop(null);
    setPlaced((now) => [...now, to]);
    moves.current = moves.current
      .then(() => changes.change(task, { status, ...(position ? { position } : {}) }, said))
      .finally(() => setPlaced((now) => now.filter((each) => each !== to)));
  };
  const drag = useDrag<Drop>({
    take: ({ target }) => {
      const part = target as Element;
      if (part.closest("button, input, select, label")) return null;
      const task = find(part.closest<HTMLElement>("[data-row]")?.dataset.row);
      return task ? { task, status: task.status, before: nextOf(shown.current, task) } : null;
    },
    move: ({ task }, { x, y }) => {
      const to = placeUnder(x, y, task.id);
      if (to) setDrop({ task, ...to });
    },
    drop: ({ task, ...from }, { x, y }) => {
      const to = placeUnder(x, y, task.id);
      if (to && (to.status !== from.status || to.before !== from.before)) place({ task, ...to });
      else setDrop(null);
    },
    leave: () => setDrop(null),
  });
  const press = (event: KeyboardEvent) => {
    const row = (event.target as Element).closest<HTMLElement>("[data-row]");
    const task = find(row?.dataset.row);
    if (!task || !event.key.startsWith("Arrow")) return;
    event.preventDefault();
    if (!event.altKey) return focusBeside(board.current, row, across(event.key));
    const to = carriedTo(shown.current, task, across(event.key));
    if (!to) return;
    followed.current = task.id;
    place({ task, ...to });
  };
  const follow = () => {
    const { activeElement: now } = document;
    if (now !== document.body && !board.current?.contains(now)) return;
    board.current?.querySelector<HTMLElement>(`[data-row="${followed.current}"] > a`)?.focus();
  };
  /** Where one column fills the view, the first one with tasks is shown first. */
  const begin = (status: Status) => {
    if (!unread.current.delete(status) || unread.current.size || !phone) return;
    const first = columns.find((each) => shown.current.get(each.status)?.length);
    const column = board.current?.querySelector(`[data-status="${first?.status}"]`);
    column?.scrollIntoView({ inline: "center", block: "nearest", behavior: "instant" });
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
    <div
      className={styles.board}
      ref={board}
      onKeyDown={press}
      onFocus={({ target }) => {
        const row = target.closest<HTMLElement>("[data-row]");
        // Where a card has gone, its column has the focus until it is back.
        if (row && row.dataset.row !== followed.current) followed.current = null;
      }}
      {...drag}
    >
      {columns.map(({ status, label }) => (
        <Column
          key={status}
          status={status}
          label={label}
          filter={filter}
          drops={drop ? [...placed, drop] : placed}
          current={current}
          changes={changes}
          selection={selection}
          onOpen={onOpen}
          onShown={(tasks, items) => {
            shown.current.set(status, items);
            if (tasks.isKnown) begin(status);
            if (items.some(({ id }) => id === followed.current)) follow();
          }}
        />
      ))}
    </div>
  );
}
