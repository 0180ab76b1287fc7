// The pages as a tree: only the rows in view exist, and the keys of every tree move in it.
import { useVirtualizer } from "@tanstack/react-virtual";
import { ChevronRight, FileText, Folder, FolderOpen, TriangleAlert } from "lucide-react";
import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from "react";
import { useMedia } from "../../kit/pieces";
import { useKey } from "../../services/useKey";
import { above, folderOf, type Row, rowsOf, type treeOf } from "./treeRows";

const ROW_PX = 32;
const TOUCH_PX = 44;
const INDENT_PX = 14;

type TreeProps = {
  root: ReturnType<typeof treeOf>;
  current: string | null;
  open: ReadonlySet<string>;
  onFold: (folder: string, open: boolean) => void;
  onOpen: (path: string) => void;
};

export function Tree({ root, current, open, onFold, onOpen }: TreeProps) {
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const touch = useMedia("(pointer: coarse)");
  const rows = useMemo(() => rowsOf(root, open), [root, open]);
  const [active, setActive] = useState<string | null>(current);
  const at = Math.max(
    0,
    rows.findIndex((row) => row.path === active),
  );
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => (touch ? TOUCH_PX : ROW_PX),
    getItemKey: (index) => rows[index]?.path ?? index,
    overscan: 12,
  });
  // Only another page moves the tree, once: it may have no row yet, as its folder opens or it is made.
  const reached = useRef<string | null>(null);
  useEffect(() => setActive((now) => current ?? now), [current]);
  useEffect(() => {
    const place = rows.findIndex((row) => row.path === current);
    if (reached.current === current || place < 0) return;
    reached.current = current;
    list.scrollToIndex(place, { align: "auto" });
  }, [current, rows, list]);
  const goTo = (index: number) => {
    const row = rows[Math.min(rows.length - 1, Math.max(0, index))];
    if (!row) return;
    setActive(row.path);
    list.scrollToIndex(rows.indexOf(row), { align: "auto" });
  };
  const act = (row: Row | undefined) => {
    if (!row) return;
    setActive(row.path);
    if (row.isFolder) onFold(row.path, !row.open);
    else onOpen(row.path);
  };
  const sideways = (row: Row | undefined, right: boolean) => {
    if (!row) return;
    if (row.isFolder && row.open !== right) onFold(row.path, right);
    else if (right && row.isFolder) goTo(at + 1);
    else if (!right) goTo(rows.findIndex(({ path }) => path === folderOf(row.path)));
  };
  const press = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const row = rows[at];
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
    if (to !== undefined) goTo(to);
    else if (event.key === "ArrowRight") sideways(row, true);
    else if (event.key === "ArrowLeft") sideways(row, false);
    else if (event.key === "Enter" || event.key === " ") act(row);
    else return;
    event.preventDefault();
  };
  const step = (by: number) => {
    const isHere = document.activeElement === box.current;
    box.current?.focus();
    goTo(isHere ? at + by : at);
  };
  useKey("down", () => step(1));
  useKey("up", () => step(-1));
  const shown = list.getVirtualItems();
  const isShown = shown.some(({ index }) => index === at);
  return (
    <div
      ref={box}
      className="vault-tree scroll"
      role="tree"
      aria-label="Pages"
      tabIndex={0}
      aria-activedescendant={isShown ? `${id}-${at}` : undefined}
      onKeyDown={press}
    >
      <div role="presentation" style={{ height: list.getTotalSize() }}>
        {shown.map(({ index, key, start, size }) => {
          const row = rows[index];
          if (!row) return null;
          const Icon = row.isFolder ? (row.open ? FolderOpen : Folder) : FileText;
          return (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the tree has the focus and takes the keys
            <div
              key={key}
              id={`${id}-${index}`}
              role="treeitem"
              tabIndex={-1}
              className={index === at ? "tree-row active" : "tree-row"}
              aria-level={row.level}
              aria-posinset={row.place}
              aria-setsize={row.size}
              aria-expanded={row.isFolder ? row.open : undefined}
              aria-selected={row.path === current}
              title={row.problem ? `${row.path}: ${row.problem}` : row.path}
              style={{
                height: size,
                translate: `0 ${start}px`,
                paddingInlineStart: 8 + (row.level - 1) * INDENT_PX,
              }}
              onClick={() => act(row)}
            >
              {row.isFolder ? <ChevronRight size={14} aria-hidden className="fold" /> : <i />}
              <Icon size={15} strokeWidth={1.75} aria-hidden />
              <span className="clip">{row.name}</span>
              {row.problem && (
                <span className="trouble">
                  <TriangleAlert size={14} aria-hidden />
                  <span className="visually-hidden">skipped: {row.problem}</span>
                </span>
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** Which folders are open; those above the page that is shown are. */
export function useOpenFolders(current: string | null) {
  const [open, setOpen] = useState<ReadonlySet<string>>(
    () => new Set(current ? above(current) : []),
  );
  useEffect(() => {
    if (current) setOpen((now) => new Set([...now, ...above(current)]));
  }, [current]);
  const fold = (folder: string, isOpen: boolean) =>
    setOpen((now) => {
      const next = new Set(now);
      if (isOpen) next.add(folder);
      else next.delete(folder);
      return next;
    });
  return { open, fold };
}
