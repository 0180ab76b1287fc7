import {
  type ChangeEvent,
  type ClipboardEvent,
  type KeyboardEvent,
  type Ref,
  useEffect,
  useId,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
} from "react";
import { withNamed } from "../../run/named";
import { messageOf } from "../../run/past";
import type { Session } from "../../run/session";
import type { Upload } from "../../run/uploads";
import type { SessionView } from "../../run/view";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";
import { ComposerFoot } from "./ComposerFoot";
import { FromHere } from "./FromHere";
import { NamedChips } from "./NamedChips";
import { Queue } from "./Queue";
import { SlashMenu } from "./SlashMenu";
import { TemporaryNote } from "./TemporaryMark";
import { UploadChips } from "./UploadChips";
import { useHints } from "./useHints";
import { useReach } from "./useReach";

export type ComposerHandle = { focus: () => void; put: (text: string) => void };

type ComposerProps = { ref: Ref<ComposerHandle>; session: Session; view: SessionView };

function useGrowing(text: string) {
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    const element = field.current;
    if (!element) return;
    void text;
    element.style.height = "auto";
    element.style.height = `${element.scrollHeight}px`;
  }, [text]);
  return field;
}

/** What to know before a message with these files is sent. */
function hintOf(uploads: readonly Upload[], text: string): string | null {
  const mine = uploads.filter(({ claimed, problem }) => !claimed && !problem);
  if (!mine.length) return null;
  if (!text.trim()) return `Describe what to do with ${mine.length === 1 ? "it" : "them"}`;
  return mine.every(({ file }) => file) ? null : "Sent when the files are uploaded";
}

export function Composer({ ref, session, view }: ComposerProps) {
  const { toasts } = useApp();
  const text = useStore(session.draft);
  const setText = session.draft.set;
  const field = useGrowing(text);
  const place = useRef<HTMLDivElement>(null);
  useReach(place);
  const menu = useId();
  const uploads = useStore(session.uploads.store);
  const put = (next: string) => {
    setText(next);
    hints.reset();
    field.current?.focus();
  };
  const hints = useHints(text, put);
  useImperativeHandle(ref, () => ({ focus: () => field.current?.focus(), put }));
  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) field.current?.focus();
  }, [field]);
  const send = () => {
    if (!text.trim()) return;
    setText("");
    void session.send(withNamed(text.trim(), session.named.get()));
    session.named.set([]);
  };
  const lastSaid = () => view.turns.findLast((turn) => turn.question && messageOf(turn));
  const press = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) return;
    const last = lastSaid();
    if (hints.press(event)) event.preventDefault();
    else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      send();
    } else if (event.key === "ArrowUp" && !text && last && !view.running) {
      event.preventDefault();
      session.edit(last);
    } else if (event.key === "Escape" && !event.shiftKey) field.current?.blur();
  };
  const change = (event: ChangeEvent<HTMLTextAreaElement>) => {
    setText(event.target.value);
    hints.reset();
  };
  const paste = (event: ClipboardEvent) => {
    if (!event.clipboardData.files.length) return;
    event.preventDefault();
    session.uploads.add([...event.clipboardData.files]);
  };
  const temporary = Boolean((view.conversation ?? view.begin).temporary);
  const open = hints.hints.length > 0;
  return (
    <div ref={place} className="column composer-place">
      <FromHere session={session} view={view} />
      <Queue session={session} view={view} uploads={uploads} onPut={put} />
      {open && (
        <SlashMenu id={menu} hints={hints.hints} at={hints.current} onChoose={hints.choose} />
      )}
      <form
        className={`composer ${temporary ? "temporary" : ""}`}
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <NamedChips named={session.named} />
        <UploadChips list={uploads} uploads={session.uploads} />
        <textarea
          ref={field}
          rows={1}
          value={text}
          aria-label="Message"
          placeholder={view.running ? "Write the next message" : "Write a message"}
          aria-autocomplete="list"
          aria-haspopup="listbox"
          aria-controls={open ? menu : undefined}
          aria-activedescendant={open ? `${menu}-${hints.current}` : undefined}
          onChange={change}
          onKeyDown={press}
          onPaste={paste}
        />
        <ComposerFoot
          view={view}
          hint={hintOf(uploads, text)}
          empty={!text.trim()}
          onFiles={(files) => {
            session.uploads.add(files);
            field.current?.focus();
          }}
          onStop={() => void session.stop().catch(toasts.fault)}
        />
      </form>
      {temporary && <TemporaryNote />}
    </div>
  );
}
