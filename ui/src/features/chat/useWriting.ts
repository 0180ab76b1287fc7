import { type RefObject, useLayoutEffect, useRef, useState } from "react";
import type { Session } from "../../run/session";
import { useStore } from "../../services/store";

export type Writing = {
  field: RefObject<HTMLTextAreaElement | null>;
  text: string;
  caret: number;
  /** Has the field hold a text, with the caret at a place, by default at its end. */
  put: (text: string, caret?: number) => void;
  /** Puts words where the caret is, apart from what stands around them. */
  insert: (words: string) => void;
  /** Takes in where the caret is now. */
  follow: () => void;
};

/** The words of a conversation's next message in a field that grows with them, and where the caret is. */
export function useWriting(session: Session): Writing {
  const text = useStore(session.draft);
  const field = useRef<HTMLTextAreaElement>(null);
  const [caret, setCaret] = useState(text.length);
  const wanted = useRef<number | null>(text.length);
  useLayoutEffect(() => {
    const element = field.current;
    if (!element) return;
    void text;
    element.style.height = "auto";
    element.style.height = `${element.scrollHeight}px`;
    if (wanted.current !== null) element.setSelectionRange(wanted.current, wanted.current);
    wanted.current = null;
    setCaret(element.selectionStart);
  }, [text]);
  const put = (next: string, at = next.length) => {
    field.current?.focus();
    if (next === text) field.current?.setSelectionRange(at, at);
    else wanted.current = at;
    setCaret(at);
    session.draft.set(next);
  };
  const insert = (words: string) => {
    const before = text.slice(0, caret);
    const after = text.slice(caret);
    const said = `${/\S$/.test(before) ? " " : ""}${words}${/^\S/.test(after) ? " " : ""}`;
    put(before + said + after, caret + said.length);
  };
  const follow = () => {
    const element = field.current;
    if (element) setCaret(element.selectionStart);
  };
  return { field, text, caret: Math.min(caret, text.length), put, insert, follow };
}
