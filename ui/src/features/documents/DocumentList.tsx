import { useEffect, useRef } from "react";
import type { Document } from "../../api/documents";
import { t } from "../../i18n";
import { useRows } from "../../kit/useRows";
import { useKey } from "../../services/useKey";
import type { Asked } from "./DocumentDialogs";
import { DocumentRow } from "./DocumentRow";
import styles from "./Documents.module.css";
import type { DocumentActions } from "./useDocumentActions";

const ROW_PX = 66;
const keyOf = (item: Document) => item.id;
const sizeOf = () => ROW_PX;
/** How many rows before the end the next page is asked for. */
const AHEAD = 30;

type ListProps = {
  items: readonly Document[];
  collection: string | null;
  selected: ReadonlySet<string>;
  actions: DocumentActions;
  onSelect: (id: string, on: boolean) => void;
  onAsk: (asked: Asked) => void;
  onChat: (document: Document) => void;
  onMore: () => Promise<void>;
};

/** Only the rows in view exist, so that ten thousand scroll like ten. */
export function DocumentList(props: ListProps) {
  const { items, selected, onSelect, onAsk, onMore } = props;
  const box = useRef<HTMLDivElement>(null);
  const rows = useRows({ rows: items, box, keyOf, sizeOf, overscan: 8 });
  const shown = rows.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= items.length - AHEAD) void onMore();
  });
  const current = useRef<string | undefined>(undefined);
  const focused = () => {
    const row = box.current
      ?.querySelector("li:focus-within")
      ?.querySelector<HTMLElement>("[data-row]");
    return row?.dataset.row;
  };
  const move = (by: number) => {
    const at = items.findIndex(({ id }) => id === current.current);
    const to = Math.min(items.length - 1, Math.max(0, at + by));
    current.current = items[to]?.id;
    rows.scrollToIndex(to);
    const row = () => box.current?.querySelector<HTMLElement>(`[data-row="${items[to]?.id}"]`);
    // At once if it is drawn, so that the next key meets it.
    const drawn = row();
    if (drawn) drawn.focus({ preventScroll: true });
    else requestAnimationFrame(() => row()?.focus({ preventScroll: true }));
  };
  const withFocused = (act: (document: Document) => void) => {
    const document = items.find(({ id }) => id === focused());
    if (document) act(document);
  };
  useKey("down", () => move(1));
  useKey("up", () => move(-1));
  useKey("edit", () => withFocused((document) => onAsk({ what: "rename", of: [document] })));
  useKey("remove", () => withFocused((document) => onAsk({ what: "remove", of: [document] })));
  useKey("select", () => withFocused(({ id }) => onSelect(id, !selected.has(id))));
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: hears which row inside has the focus
    <div
      className={`${styles.list} scroll`}
      ref={box}
      onFocus={() => {
        current.current = focused() ?? current.current;
      }}
    >
      <div className="page-inner">
        <ul
          className={styles.rows}
          style={{ height: rows.getTotalSize() }}
          aria-label={t("Documents")}
        >
          {shown.map((row) => {
            const document = items[row.index];
            return (
              document && (
                <li
                  key={row.key}
                  ref={rows.measureElement}
                  data-index={row.index}
                  className={`${styles.row} ${selected.has(document.id) ? styles.selected : ""}`}
                  style={{ translate: `0 ${row.start}px` }}
                  aria-setsize={items.length}
                  aria-posinset={row.index + 1}
                >
                  <DocumentRow
                    document={document}
                    selected={selected.has(document.id)}
                    inCollection={props.collection !== null}
                    actions={props.actions}
                    onSelect={(on) => onSelect(document.id, on)}
                    onAsk={(what) => onAsk({ what, of: [document] })}
                    onChat={() => props.onChat(document)}
                  />
                </li>
              )
            );
          })}
        </ul>
      </div>
    </div>
  );
}
