import { useEffect, useRef } from "react";
import type { Conversation } from "../../api/types";
import { Link } from "../../kit/pieces";
import { count } from "../../services/words";
import { ConversationMenu, titleOf } from "./ConversationMenu";
import { useConversationActions } from "./useConversationActions";

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
      aria-label="Title of the conversation"
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
  current: boolean;
  renaming: boolean;
  onRename: (on: boolean) => void;
};

export function ConversationRow({ item, current, renaming, onRename }: RowProps) {
  if (renaming) {
    return (
      <li className="conversation">
        <TitleField item={item} onDone={() => onRename(false)} />
      </li>
    );
  }
  return (
    <li className={`conversation ${current ? "current" : ""}`} data-row={item.id}>
      <Link
        to={`/c/${item.id}`}
        className="clip"
        aria-current={current ? "page" : undefined}
        title={`${titleOf(item)} · ${count(item.message_count, "message")}`}
      >
        {titleOf(item)}
      </Link>
      {item.active_run && (
        <span className="working">
          <span className="visually-hidden">answering</span>
        </span>
      )}
      <ConversationMenu item={item} onRename={() => onRename(true)} />
    </li>
  );
}
