// The memories as lines under heads; only those in view exist, so that ten thousand scroll like ten.
import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Memory } from "../../api/types";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { useMedia } from "../../kit/pieces";
import { useRows } from "../../kit/useRows";
import { useKey } from "../../services/useKey";
import { BulkBar } from "./BulkBar";
import { MemoryRow } from "./MemoryRow";
import styles from "./memory.module.css";
import { between, type Line, linesOf } from "./rows";
import type { Filter, Memories } from "./useMemories";
import type { MemoryActions } from "./useMemoryActions";
import { wordsOf } from "./words";

const ROW_PX = { fine: 36, coarse: 48 };
const HEAD_PX = 34;
/** How many rows before the end the next page is asked for. */
const AHEAD = 30;
/** So many that do not answer are shown where nothing does. */
const NEAREST = 5;

type ListProps = {
  memories: Memories;
  filter: Filter;
  here: string | null;
  actions: MemoryActions;
  onMore: () => Promise<void>;
  onOpen: (id: string) => void;
  onEdit: (id: string) => void;
};

export function MemoryList(props: ListProps) {
  const { memories, filter, here, actions, onMore, onOpen, onEdit } = props;
  const { answering } = memories;
  const [more, setMore] = useState<string | null>(null);
  const isCut = answering !== null && more !== filter.query;
  const items = isCut ? memories.items.slice(0, answering || NEAREST) : memories.items;
  const left = memories.items.length - items.length;
  const page = useRef<HTMLDivElement>(null);
  const coarse = useMedia("(pointer: coarse)");
  const rowPx = coarse ? ROW_PX.coarse : ROW_PX.fine;
  const lines = useMemo(
    () => linesOf(items, answering === null ? filter.order : null),
    [items, answering, filter.order],
  );
  const sizeOf = useCallback((line: Line) => (line.kind === "head" ? HEAD_PX : rowPx), [rowPx]);
  const rows = useRows({ rows: lines, box: page, keyOf, sizeOf, overscan: 6 });
  const shown = rows.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= lines.length - AHEAD) void onMore();
  });
  const { selected, select, clear } = useSelection(items);
  const cursor = useCursor(
    items,
    (id) => {
      const index = lines.findIndex((line) => line.id === id);
      // The head above the first row is in view with it.
      rows.scrollToIndex(index === 1 ? 0 : index);
    },
    page,
  );
  const words = useMemo(() => wordsOf(filter.query), [filter.query]);
  const withFocused = (act: (memory: Memory) => void) => {
    const memory = items.find((each) => each.id === cursor.at());
    if (memory?.state === "active") act(memory);
  };
  const remove = () =>
    withFocused((memory) => {
      if (selected.size) {
        void actions.batch([...selected], { retract: true }).then(clear);
        return;
      }
      cursor.move(memory.id === items.at(-1)?.id ? -1 : 1);
      void actions.retract(memory.id);
    });
  return (
    <>
      {/* While suggestions are answered, the keys are theirs. */}
      {here !== "review" && (
        <RowKeys
          onMove={cursor.move}
          onEdit={() => withFocused(({ id }) => onEdit(id))}
          onSelect={() => withFocused(({ id }) => select(id))}
          onRemove={remove}
        />
      )}
      {selected.size > 0 && <BulkBar ids={[...selected]} actions={actions} onDone={clear} />}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: hears which row inside has the focus */}
      <div className={`${styles.list} scroll`} ref={page} onFocus={cursor.note}>
        <ul
          className={styles.rows}
          data-rows
          tabIndex={-1}
          style={{ height: rows.getTotalSize() }}
          aria-label={t("Memories")}
        >
          {shown.map((row) => {
            const line = lines[row.index];
            if (!line) return null;
            const place = { translate: `0 ${row.start}px`, height: row.size };
            return line.kind === "head" ? (
              <li key={row.key} className={styles.group} style={place}>
                <h2>{line.name}</h2>
              </li>
            ) : (
              <li
                key={row.key}
                className={styles.row}
                style={place}
                aria-setsize={items.length}
                aria-posinset={line.place + 1}
              >
                <MemoryRow
                  memory={line.memory}
                  words={words}
                  isOpen={here === line.id}
                  isSelected={selected.has(line.id)}
                  isSelecting={selected.size > 0}
                  actions={actions}
                  onOpen={onOpen}
                  onEdit={onEdit}
                  onSelect={select}
                />
              </li>
            );
          })}
        </ul>
        {isCut && left > 0 && (
          <Button
            look="quiet"
            className={styles.nearest ?? ""}
            onClick={() => setMore(filter.query)}
          >
            {t("{count, plural, one {Show # that is near} other {Show # that are near}}", {
              count: left,
            })}
          </Button>
        )}
      </div>
    </>
  );
}

const keyOf = (line: Line) => line.id;

/** Which are selected; with Shift all from the last one on. What is no longer listed is not selected. */
function useSelection(items: readonly Memory[]) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const anchor = useRef<string | null>(null);
  const selected = useMemo(
    () =>
      new Set(
        items.filter(({ id, state }) => state === "active" && chosen.has(id)).map(({ id }) => id),
      ),
    [items, chosen],
  );
  const now = useRef({ items, selected });
  now.current = { items, selected };
  // The same for all renders: rows are drawn anew only when they are others.
  const select = useCallback((id: string, isRange = false) => {
    const next = new Set(now.current.selected);
    if (isRange) for (const one of between(now.current.items, anchor.current, id)) next.add(one);
    else if (!next.delete(id)) next.add(id);
    anchor.current = id;
    setChosen(next);
  }, []);
  return { selected, select, clear: () => setChosen(new Set()) };
}

/** Walks the rows with j and k. */
function useCursor(
  items: readonly Memory[],
  scrollTo: (id: string) => void,
  page: RefObject<HTMLDivElement | null>,
) {
  const focused = () =>
    page.current?.querySelector<HTMLElement>("[data-row]:focus-within, [data-row]:focus")?.dataset
      .row;
  // A held key moves faster than rows appear: where it has got to is known before the focus is there.
  const current = useRef<string | undefined>(undefined);
  const move = (by: number) => {
    const at = items.findIndex((each) => each.id === current.current);
    const id = items[Math.min(items.length - 1, Math.max(0, at + by))]?.id;
    current.current = id;
    if (!id) return;
    scrollTo(id);
    requestAnimationFrame(() => {
      page.current
        ?.querySelector<HTMLElement>(`[data-row="${CSS.escape(id)}"]`)
        ?.focus({ preventScroll: true });
    });
  };
  const note = () => {
    current.current = focused() ?? current.current;
  };
  /** Where it has got to, while the keyboard is in the list. */
  const at = () => (page.current?.contains(document.activeElement) ? current.current : undefined);
  return { at, move, note };
}

type KeysProps = {
  onMove: (by: number) => void;
  onEdit: () => void;
  onSelect: () => void;
  onRemove: () => void;
};

function RowKeys({ onMove, onEdit, onSelect, onRemove }: KeysProps) {
  useKey("down", () => onMove(1));
  useKey("up", () => onMove(-1));
  useKey("edit", onEdit);
  useKey("select", onSelect);
  useKey("remove", onRemove);
  return null;
}
