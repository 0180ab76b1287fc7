import { type PointerEvent, type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import type { Project } from "../../../api/projects";
import { t } from "../../../i18n";
import { useMedia } from "../../../kit/pieces";
import { type Point, useDrag } from "../../../kit/useDrag";
import { useListKeys } from "../../../kit/useListKeys";
import { useRows } from "../../../kit/useRows";
import type { Place } from "../../../services/conversations";
import { useKey } from "../../../services/useKey";
import { useConversationActions } from "../useConversationActions";
import { ConversationRow } from "./ConversationRow";
import styles from "./list.module.css";
import { ProjectRow } from "./ProjectRow";
import type { Row } from "./rows";
import type { Selection } from "./useSelection";

type RowListProps = {
  rows: readonly Row[];
  current: string | null;
  place: Place;
  selection: Selection;
  onProject: (id: string) => void;
  onEditProject: (project: Project) => void;
  onArchive: (id: string) => void;
  /** Asked for more when the end comes near; not there if there is none, or while it is read. */
  onEnd: (() => Promise<void>) | undefined;
  /** What stands in place of rows; in their box, so that nothing moves when they come. */
  children: ReactNode;
};

const ROW_PX = 36;
const TOUCH_PX = 44;
const AHEAD = 15;

const keyOf = (row: Row) => row.key;

/** The project that stands at a point of the window. */
const projectAt = ({ x, y }: Point) =>
  document.elementFromPoint(x, y)?.closest<HTMLElement>("[data-project]")?.dataset.project ?? null;

/** Conversations are carried to a project: the one that was taken, or all that are chosen. */
function useCarrying(selection: Selection) {
  const { moveAll } = useConversationActions();
  const [over, setOver] = useState<string | null>(null);
  const [carried, setCarried] = useState<{ count: number; at: Point } | null>(null);
  const chosen = (id: string) =>
    selection.has(id) ? selection.chosen.map((item) => item.id) : [id];
  const drag = useDrag<string>({
    take: (event: PointerEvent<HTMLElement>) =>
      (event.target as Element).closest("button, input")
        ? null
        : ((event.target as Element).closest<HTMLElement>("[data-row]")?.dataset.row ?? null),
    move: (id, at) => {
      setOver(projectAt(at));
      setCarried({ count: chosen(id).length, at });
    },
    drop: (id, at) => {
      const project = projectAt(at);
      setOver(null);
      setCarried(null);
      if (project === null) return;
      void moveAll(chosen(id), project);
      selection.clear();
    },
    leave: () => {
      setOver(null);
      setCarried(null);
    },
  });
  return { drag, over, carried };
}

/** Only the rows in view exist. */
export function RowList(props: RowListProps) {
  const { rows, current, place, selection, onEnd } = props;
  const box = useRef<HTMLDivElement>(null);
  const [renaming, setRenaming] = useState<string | null>(null);
  const touch = useMedia("(pointer: coarse)");
  const sizeOf = useCallback(() => (touch ? TOUCH_PX : ROW_PX), [touch]);
  const virtual = useRows({ rows, box, keyOf, sizeOf, overscan: 10 });
  const shown = virtual.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  const isNear = rows.length > 0 && last >= rows.length - AHEAD;
  useEffect(() => {
    if (isNear) void onEnd?.();
  }, [isNear, onEnd]);
  const { drag, over, carried } = useCarrying(selection);
  useKeys(box, props, setRenaming);
  return (
    <div className={`scroll ${styles.rows}`} ref={box} {...drag}>
      {props.children}
      <ul style={{ height: virtual.getTotalSize() }} aria-label={t("Conversations")}>
        {shown.map((place_) => {
          const row = rows[place_.index];
          if (!row) return null;
          return (
            <li
              key={place_.key}
              ref={virtual.measureElement}
              data-index={place_.index}
              className={styles.item}
              style={{ translate: `0 ${place_.start}px` }}
            >
              {row.kind === "heading" && <h2>{row.name}</h2>}
              {row.kind === "project" && (
                <ProjectRow
                  project={row.project}
                  open={row.open}
                  over={over === row.project.id}
                  onToggle={() => props.onProject(row.project.id)}
                  onEdit={() => props.onEditProject(row.project)}
                />
              )}
              {row.kind === "conversation" && (
                <ConversationRow
                  item={row.item}
                  inside={row.inside}
                  current={row.item.id === current}
                  renaming={renaming === row.item.id}
                  selection={selection}
                  place={place}
                  onRename={(on) => setRenaming(on ? row.item.id : null)}
                />
              )}
            </li>
          );
        })}
      </ul>
      {carried && (
        <p
          className={styles.carried}
          style={{ insetInlineStart: carried.at.x + 12, insetBlockStart: carried.at.y + 12 }}
        >
          {t("{count, plural, one {# conversation} other {# conversations}}", {
            count: carried.count,
          })}
        </p>
      )}
    </div>
  );
}

/** j and k move, e renames, x archives, s chooses. The focus goes on to the neighbour of what goes. */
function useKeys(
  box: { current: HTMLDivElement | null },
  { selection, onArchive }: RowListProps,
  rename: (id: string) => void,
) {
  const remove = (id: string) => {
    const drawn = [...(box.current?.querySelectorAll<HTMLElement>("[data-row]") ?? [])];
    const at = drawn.findIndex((row) => row.dataset.row === id);
    (drawn[at + 1] ?? drawn[at - 1])?.querySelector("a")?.focus();
    onArchive(id);
  };
  useListKeys(box, { edit: rename, remove });
  useKey("select", () => {
    const row = document.activeElement?.closest<HTMLElement>("[data-row]");
    if (row?.dataset.row && box.current?.contains(row)) selection.toggle(row.dataset.row);
  });
}
