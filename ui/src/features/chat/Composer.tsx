import { ArrowUp, Square, X } from "lucide-react";
import {
  type ChangeEvent,
  type KeyboardEvent,
  type Ref,
  useEffect,
  useId,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { IconButton } from "../../kit/Button";
import { Keys } from "../../kit/pieces";
import type { Session, SessionView } from "../../run/session";
import { useApp } from "../../services/context";
import { type Command, hinted } from "./commands";
import { SlashMenu } from "./SlashMenu";

export type ComposerHandle = { focus: () => void; put: (text: string) => void };

type ComposerProps = {
  ref: Ref<ComposerHandle>;
  session: Session;
  view: SessionView;
  onSend: (text: string) => void;
};

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

function Queue({
  session,
  queue,
  onPut,
}: {
  session: Session;
  queue: readonly string[];
  onPut: (text: string) => void;
}) {
  if (!queue.length) return null;
  return (
    <ul className="queue" aria-label="Sent when this answer ends">
      {queue.map((text, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two queued messages may be the same
        <li key={`${i} ${text}`}>
          <span>Next</span>
          <button
            type="button"
            className="clip"
            title="Edit"
            onClick={() => onPut(session.unqueue(i))}
          >
            {text}
          </button>
          <IconButton
            icon={X}
            size={14}
            label={`Do not send: ${text}`}
            onClick={() => session.unqueue(i)}
          />
        </li>
      ))}
    </ul>
  );
}

export function Composer({ ref, session, view, onSend }: ComposerProps) {
  const { toasts } = useApp();
  const [text, setText] = useState(session.draft);
  const [at, setAt] = useState(0);
  const [hushed, setHushed] = useState(false);
  const field = useGrowing(text);
  const menu = useId();
  const hints = hushed ? [] : hinted(text);
  const put = (next: string) => {
    setText(next);
    setHushed(false);
    setAt(0);
    field.current?.focus();
  };
  useImperativeHandle(ref, () => ({ focus: () => field.current?.focus(), put }));
  useEffect(() => {
    session.draft = text;
  }, [session, text]);
  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) field.current?.focus();
  }, [field]);
  const send = () => {
    if (!text.trim()) return;
    setText("");
    onSend(text.trim());
  };
  const choose = (command: Command | undefined) =>
    command && put(command.takes ? `${command.name} ` : command.name);
  const stop = () => session.stop().catch(toasts.fault);
  const lastSaid = () => view.turns.findLast((turn) => turn.question)?.question?.content;

  const hintKeys = (event: KeyboardEvent): boolean => {
    const chosen = hints[Math.min(at, hints.length - 1)];
    const whole = chosen?.name === text && !chosen.takes;
    if (event.key === "ArrowDown") setAt((at + 1) % hints.length);
    else if (event.key === "ArrowUp") setAt((at - 1 + hints.length) % hints.length);
    else if (event.key === "Escape") setHushed(true);
    else if (event.key === "Tab" || (event.key === "Enter" && !whole)) choose(chosen);
    else return false;
    return true;
  };
  const press = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) return;
    const last = lastSaid();
    if (hints.length && !event.shiftKey && hintKeys(event)) event.preventDefault();
    else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      send();
    } else if (event.key === "ArrowUp" && !text && last) {
      event.preventDefault();
      put(last);
    } else if (event.key === "Escape" && !event.shiftKey) field.current?.blur();
  };
  const change = (event: ChangeEvent<HTMLTextAreaElement>) => {
    setText(event.target.value);
    setHushed(false);
    setAt(0);
  };
  return (
    <div className="column composer-place">
      <Queue session={session} queue={view.queue} onPut={put} />
      {hints.length > 0 && <SlashMenu id={menu} hints={hints} at={at} onChoose={choose} />}
      <form
        className="composer"
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <textarea
          ref={field}
          rows={1}
          value={text}
          aria-label="Message"
          placeholder={view.running ? "Add what comes next" : "Write a message"}
          aria-autocomplete="list"
          aria-haspopup="listbox"
          aria-controls={hints.length ? menu : undefined}
          aria-activedescendant={
            hints.length ? `${menu}-${Math.min(at, hints.length - 1)}` : undefined
          }
          onChange={change}
          onKeyDown={press}
        />
        <div className="composer-foot">
          <span className="hint">
            <kbd>/</kbd> commands
          </span>
          <span className="gap" />
          {view.running && (
            <>
              <span className="hint">
                <Keys combo="mod+." />
              </span>
              <IconButton
                icon={Square}
                size={14}
                className="stop"
                label={view.stopping ? "Stopping" : "Stop the answer"}
                disabled={view.stopping}
                onClick={stop}
              />
            </>
          )}
          {(!view.running || text.trim()) && (
            <IconButton
              icon={ArrowUp}
              className="send"
              type="submit"
              label={view.running ? "Send when this answer ends" : "Send"}
              disabled={!text.trim()}
            />
          )}
        </div>
      </form>
    </div>
  );
}
