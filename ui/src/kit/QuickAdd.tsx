// One line in words; what was understood of it shows while it is typed.
import { CircleHelp, Plus } from "lucide-react";
import { type FormEvent, type ReactNode, type Ref, useId, useRef, useState } from "react";
import { asProblem, newKey } from "../api/client";
import { t, told } from "../i18n";
import { useApp } from "../services/context";
import type { Writing } from "../services/outbox";
import { Button } from "./Button";
import styles from "./QuickAdd.module.css";
import { type Understood, useUnderstood } from "./useUnderstood";

export type { Understood };

type QuickAddProps = {
  label: string;
  placeholder: string;
  /** Stands below the empty field. */
  hint?: string;
  understand: (text: string, signal: AbortSignal) => Promise<Understood>;
  /** Makes it, once for a key; what it throws is told below the field, and the words stay. */
  onAdd: (text: string, key: string) => Promise<void>;
  /** What is sent later if the server cannot be reached now. */
  later?: (text: string) => Pick<Writing, "path" | "body">;
  field?: Ref<HTMLInputElement>;
  children?: ReactNode;
};

export function QuickAdd(props: QuickAddProps) {
  const { label, placeholder, hint, onAdd, later, field, children } = props;
  const { outbox, toasts } = useApp();
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const note = useId();
  // Whoever sends the same words again, as no answer came, means the same thing.
  const sent = useRef({ words: "", key: "" });
  const words = text.trim();
  const { understood, why, setWhy } = useUnderstood(words, props.understand, Boolean(later));
  // What is ambiguous is asked, below.
  const fault = why || (understood.choices.length ? "" : told(understood.problem ?? ""));
  // What was typed meanwhile is the next one.
  const clear = () => {
    sent.current = { words: "", key: "" };
    setText((now) => (now.trim() === words ? "" : now));
  };
  const add = async (event: FormEvent) => {
    event.preventDefault();
    if (!words || busy) return;
    setBusy(true);
    if (sent.current.words !== words) sent.current = { words, key: newKey() };
    const { key } = sent.current;
    try {
      await onAdd(words, key);
      clear();
    } catch (error) {
      const problem = asProblem(error);
      const isAway = problem.code === "unreachable" && later;
      if (isAway && (await outbox.add({ ...later(words), words, key }))) {
        clear();
        toasts.show(t("Kept here. It is sent when Bethink is back."));
      } else setWhy(problem.detail || problem.title);
    }
    setBusy(false);
  };
  return (
    <form className={styles.form} onSubmit={(event) => void add(event)}>
      <div className={styles.line}>
        <Plus size={16} aria-hidden />
        <input
          ref={field}
          className="input"
          aria-label={label}
          aria-describedby={note}
          placeholder={placeholder}
          enterKeyHint="done"
          autoComplete="off"
          maxLength={1000}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") event.currentTarget.blur();
          }}
        />
        {children}
        {words && (
          <Button look="primary" type="submit" disabled={busy}>
            {t("Add")}
          </Button>
        )}
      </div>
      <div id={note} className={styles.note} role="status">
        {fault && <p className="why">{fault}</p>}
        {words && !fault && understood.choices.length === 0 && (
          <ul aria-label={t("Understood")}>
            {understood.chips.map((chip) => (
              <li key={chip} className="chip">
                {chip}
              </li>
            ))}
          </ul>
        )}
        {words && understood.choices.length > 0 && (
          <>
            <p>
              <CircleHelp size={14} aria-hidden /> {t("Which one is meant?")}
            </p>
            {understood.choices.map((choice) => (
              <button
                key={choice.text}
                type="button"
                className="chip"
                onClick={() => setText(choice.text)}
              >
                {choice.words}
              </button>
            ))}
          </>
        )}
        {!words && hint && <p className="hint">{hint}</p>}
      </div>
    </form>
  );
}
