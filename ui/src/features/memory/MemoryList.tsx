import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useRef, useState } from "react";
import type { Memory } from "../../api/types";
import { useKey } from "../../services/useKey";
import { MemoryRow } from "./MemoryRow";
import type { MemoryActions } from "./useMemoryActions";

const ROW_PX = 70;
/** How many rows before the end the next page is asked for. */
const AHEAD = 30;

type ListProps = {
  items: readonly Memory[];
  actions: MemoryActions;
  onMore: () => Promise<void>;
  /** What stands below the list. */
  children?: ReactNode;
};

/** Only the rows in view exist, so that ten thousand scroll like ten. */
export function MemoryList({ items, actions, onMore, children }: ListProps) {
  const page = useRef<HTMLDivElement>(null);
  const [editing, setEditing] = useState<string | null>(null);
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => page.current,
    estimateSize: () => ROW_PX,
    getItemKey: (index) => items[index]?.id ?? index,
    overscan: 8,
  });
  const shown = rows.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= items.length - AHEAD) void onMore();
  });
  const focused = () =>
    page.current?.querySelector<HTMLElement>("[data-row]:focus-within, [data-row]:focus");
  // A held key moves faster than rows appear: where it has got to is known before the focus is there.
  const current = useRef<string | undefined>(undefined);
  const move = (by: number) => {
    const at = items.findIndex((each) => each.id === current.current);
    const to = Math.min(items.length - 1, Math.max(0, at + by));
    current.current = items[to]?.id;
    rows.scrollToIndex(to);
    requestAnimationFrame(() => {
      page.current
        ?.querySelector<HTMLElement>(`[data-row="${items[to]?.id}"]`)
        ?.focus({ preventScroll: true });
    });
  };
  const withFocused = (act: (memory: Memory) => void) => {
    const memory = items.find((each) => each.id === focused()?.dataset.row);
    if (memory?.state === "active") act(memory);
  };
  useKey("down", () => move(1));
  useKey("up", () => move(-1));
  useKey("edit", () => withFocused((memory) => setEditing(memory.id)));
  useKey("remove", () =>
    withFocused((memory) => {
      move(memory.id === items.at(-1)?.id ? -1 : 1);
      void actions.retract(memory.id);
    }),
  );
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: hears which row inside has the focus
    <div
      className="memory-list scroll"
      ref={page}
      onFocus={() => {
        current.current = focused()?.dataset.row ?? current.current;
      }}
    >
      <div className="page-inner">
        <ul className="memory-rows" style={{ height: rows.getTotalSize() }} aria-label="Memories">
          {shown.map((row) => {
            const memory = items[row.index];
            return (
              memory && (
                <li
                  key={row.key}
                  ref={rows.measureElement}
                  data-index={row.index}
                  className={`memory-row ${memory.state}`}
                  style={{ translate: `0 ${row.start}px` }}
                  aria-setsize={items.length}
                  aria-posinset={row.index + 1}
                >
                  <MemoryRow
                    memory={memory}
                    actions={actions}
                    editing={editing === memory.id}
                    onEdit={(on) => setEditing(on ? memory.id : null)}
                  />
                </li>
              )
            );
          })}
        </ul>
        {children}
      </div>
    </div>
  );
}
