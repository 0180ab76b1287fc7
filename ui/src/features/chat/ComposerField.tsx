import type { ClipboardEvent, KeyboardEvent } from "react";
import { t } from "../../i18n";
import { messageOf } from "../../run/past";
import type { Session } from "../../run/session";
import type { SessionView } from "../../run/view";
import { useApp } from "../../services/context";
import { fileOf, isLong, isTooLong } from "./pasted";
import type { Completion } from "./useCompletion";
import type { Writing } from "./useWriting";

type FieldProps = {
  session: Session;
  view: SessionView;
  writing: Writing;
  completion: Completion;
  /** The id of the list of completions. */
  menu: string;
  onSend: () => void;
  /** A long text was pasted. */
  onLong: (text: string) => void;
};

/** The words of the message, and the keys that mean something in it. */
export function ComposerField(props: FieldProps) {
  const { session, view, writing, completion, menu, onSend, onLong } = props;
  const { field, text, follow } = writing;
  const { toasts } = useApp();
  const press = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) return;
    const last = view.turns.findLast((turn) => turn.question && messageOf(turn));
    if (completion.press(event)) event.preventDefault();
    else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      onSend();
    } else if (event.key === "ArrowUp" && !text && last && !view.running) {
      event.preventDefault();
      session.edit(last);
    } else if (event.key === "Backspace" && !text) {
      session.named.set(session.named.get().slice(0, -1));
    } else if (event.key === "Escape" && !event.shiftKey) field.current?.blur();
  };
  const paste = (event: ClipboardEvent) => {
    const words = event.clipboardData.getData("text/plain").replaceAll("\r\n", "\n");
    if (isTooLong(words)) {
      event.preventDefault();
      session.uploads.add([fileOf(words)]);
      toasts.show(t("The text is too long for a message; it is attached as a file"));
      return;
    }
    if (isLong(words)) onLong(words);
    // A table that is copied comes as words, and as a picture of them.
    if (!event.clipboardData.files.length || words) return;
    event.preventDefault();
    session.uploads.add([...event.clipboardData.files]);
  };
  const open = completion.options.length > 0;
  return (
    <textarea
      ref={field}
      dir={text ? "auto" : undefined}
      rows={1}
      value={text}
      aria-label={t("Message")}
      placeholder={view.running ? t("Write the next message") : t("Write a message")}
      aria-autocomplete="list"
      aria-haspopup="listbox"
      aria-controls={open ? menu : undefined}
      aria-activedescendant={open ? `${menu}-${completion.current}` : undefined}
      onChange={(event) => {
        session.draft.set(event.target.value);
        if (!event.target.value) session.foreign.set(false);
        completion.reset();
      }}
      onSelect={follow}
      onKeyDown={press}
      onPaste={paste}
    />
  );
}
