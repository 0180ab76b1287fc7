import { Ellipsis, Eraser, Pencil, Pin, PinOff, TriangleAlert, Undo2 } from "lucide-react";
import { type MouseEvent, memo, useState } from "react";
import type { Memory } from "../../api/types";
import { t } from "../../i18n";
import { Menu } from "../../kit/Popover";
import { Link } from "../../kit/pieces";
import { ForgetDialog } from "./ForgetDialog";
import styles from "./memory.module.css";
import type { MemoryActions } from "./useMemoryActions";
import { doubtName, marked, origin } from "./words";

type RowProps = {
  memory: Memory;
  /** Those of the search, which are marked. */
  words: readonly string[];
  isOpen: boolean;
  isSelected: boolean;
  /** Some are selected: a click selects, too. */
  isSelecting: boolean;
  actions: MemoryActions;
  onOpen: (id: string) => void;
  onEdit: (id: string) => void;
  onSelect: (id: string, isRange?: boolean) => void;
};

/** One line: what is remembered. Where it is from is its tip, the rest its page. */
function Row(props: RowProps) {
  const { memory, words, isOpen, isSelected, isSelecting, actions, onOpen, onEdit, onSelect } =
    props;
  const { id, content, state, pinned, doubts } = memory;
  const [asking, setAsking] = useState(false);
  const active = state === "active";
  const items = () => [
    ...(active
      ? [
          { label: t("Edit"), icon: Pencil, combo: "e", run: () => onEdit(id) },
          pinned
            ? { label: t("Unpin"), icon: PinOff, run: () => void actions.pin(memory) }
            : { label: t("Pin"), icon: Pin, run: () => void actions.pin(memory) },
          { label: t("Select"), combo: "s", run: () => onSelect(id) },
          { label: t("Retract"), icon: Undo2, combo: "x", run: () => void actions.retract(id) },
        ]
      : []),
    { label: t("Forget for good"), icon: Eraser, run: () => setAsking(true), fault: true },
  ];
  const choose = (event: MouseEvent) => {
    if (!active || !(isSelecting || event.shiftKey)) return;
    event.preventDefault();
    onSelect(id, event.shiftKey);
  };
  return (
    <article
      data-row={id}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: rows are walked with j and k
      tabIndex={0}
      aria-label={content}
      aria-current={isOpen ? "true" : undefined}
      className={`${styles[state] ?? ""} ${isSelected ? styles.selected : ""}`}
      title={origin(memory)}
      onClickCapture={choose}
      onKeyDown={(event) => {
        if (event.key === "Enter" && event.target === event.currentTarget) onOpen(id);
        if (event.key === " " && event.target === event.currentTarget && active) {
          event.preventDefault();
          onSelect(id, event.shiftKey);
        }
      }}
    >
      {isSelecting && active && (
        <input
          type="checkbox"
          tabIndex={-1}
          checked={isSelected}
          aria-label={t("Select “{content}”", { content: content.slice(0, 60) })}
          onChange={() => onSelect(id)}
        />
      )}
      <Link to={`/memory/${encodeURIComponent(id)}`} tabIndex={-1} className={styles.words}>
        {marked(content, words).map((part, place) =>
          // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text, in order
          part.isMarked ? <mark key={place}>{part.text}</mark> : part.text,
        )}
      </Link>
      {pinned && <Pin size={14} aria-label={t("pinned")} role="img" />}
      {doubts[0] && (
        <TriangleAlert
          size={14}
          className={styles.doubt}
          aria-label={doubtName(doubts[0].kind)}
          role="img"
        />
      )}
      <Menu
        icon={Ellipsis}
        size={16}
        className={styles.more ?? ""}
        label={t("More for “{content}”", { content: content.slice(0, 60) })}
        items={items}
      />
      {asking && <ForgetDialog given={{ ids: [id] }} onClose={() => setAsking(false)} />}
    </article>
  );
}

export const MemoryRow = memo(
  Row,
  (one, other) =>
    one.memory === other.memory &&
    one.words === other.words &&
    one.isOpen === other.isOpen &&
    one.isSelected === other.isSelected &&
    one.isSelecting === other.isSelecting &&
    one.onSelect === other.onSelect,
);
