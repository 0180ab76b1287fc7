import { CircleHelp, Pin } from "lucide-react";
import { type MouseEvent, useEffect, useRef } from "react";
import type { Conversation } from "../../../api/types";
import { t } from "../../../i18n";
import { useContextMenu } from "../../../kit/Popover";
import { Link } from "../../../kit/pieces";
import type { Place } from "../../../services/conversations";
import { ConversationMenu, titleOf, useConversationMenu } from "../ConversationMenu";
import { useConversationActions } from "../useConversationActions";
import styles from "./list.module.css";
import type { Selection } from "./useSelection";

type TitleProps = { item: Conversation; onDone: () => void };

export function TitleField({ item, onDone }: TitleProps) {
  const { rename } = useConversationActions();
  const field = useRef<HTMLInputElement>(null);
  const finished = useRef(false);
  useEffect(() => field.current?.select(), []);
  const finish = (keep: boolean) => {
    if (finished.current) return;
    finished.current = true;
    const title = field.current?.value.trim() ?? "";
    if (keep && title && title !== item.title) void rename(item.id, title);
    onDone();
  };
  return (
    <input
      ref={field}
      className="input"
      aria-label={t("Title of the conversation")}
      defaultValue={titleOf(item)}
      maxLength={200}
      onBlur={() => finish(true)}
      onKeyDown={(event) => {
        if (event.key === "Enter" && !event.nativeEvent.isComposing) finish(true);
        if (event.key === "Escape") finish(false);
      }}
    />
  );
}

type RowProps = {
  item: Conversation;
  /** It stands below its project. */
  inside: boolean;
  current: boolean;
  renaming: boolean;
  selection: Selection;
  place: Place;
  onRename: (on: boolean) => void;
};

/** What it needs of somebody stands first: a decision, then that it is being answered, then an answer unseen. */
function Mark({ item }: { item: Conversation }) {
  if (item.needs_you) {
    return (
      <span className={styles.needs} title={t("Needs your decision")}>
        <CircleHelp size={15} aria-hidden />
        <span className="visually-hidden">{t("needs you")}</span>
      </span>
    );
  }
  if (item.active_run) {
    return (
      <span className={styles.working}>
        <span className="visually-hidden">{t("answering")}</span>
      </span>
    );
  }
  if (!item.unread) return null;
  return (
    <span className={styles.unread}>
      <span className="visually-hidden">{t("new answer")}</span>
    </span>
  );
}

export function ConversationRow(props: RowProps) {
  const { item, inside, current, renaming, selection, place, onRename } = props;
  const items = useConversationMenu(item, {
    onRename: () => onRename(true),
    onSelect: () => selection.toggle(item.id),
  });
  const { onContextMenu, menu } = useContextMenu(
    t("More for {title}", { title: titleOf(item) }),
    items.items,
  );
  if (renaming) {
    return (
      <div className={`conversation ${styles.conversation}`}>
        <TitleField item={item} onDone={() => onRename(false)} />
      </div>
    );
  }
  const isSelecting = selection.chosen.length > 0;
  const isChosen = selection.has(item.id);
  const choose = (event: MouseEvent) => {
    const { shiftKey, ctrlKey, metaKey } = event;
    if (!(shiftKey || ctrlKey || metaKey || isSelecting)) return;
    event.preventDefault();
    if (shiftKey) selection.extend(item.id);
    else selection.toggle(item.id);
  };
  const classes = ["conversation", styles.conversation, current && styles.current];
  if (inside) classes.push(styles.inside);
  if (isChosen) classes.push(styles.chosen);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the same menu is behind its button
    <div
      className={classes.filter(Boolean).join(" ")}
      data-row={item.id}
      onContextMenu={onContextMenu}
    >
      {isSelecting && (
        <input
          type="checkbox"
          checked={isChosen}
          aria-label={t("Select {title}", { title: titleOf(item) })}
          onChange={() => selection.toggle(item.id)}
        />
      )}
      <Link
        to={`/c/${item.id}`}
        className={`clip ${item.unread && !current ? styles.new : ""}`}
        aria-current={current ? "page" : undefined}
        title={t("{title} · {count, plural, one {# message} other {# messages}}", {
          title: titleOf(item),
          count: item.message_count,
        })}
        onClick={choose}
      >
        <span dir="auto">{titleOf(item)}</span>
      </Link>
      {item.pinned && place === "list" && (
        <Pin size={13} className={styles.pin} role="img" aria-label={t("pinned")} />
      )}
      {!current || item.needs_you || item.active_run ? <Mark item={item} /> : null}
      <ConversationMenu item={item} items={items} />
      {menu}
    </div>
  );
}
