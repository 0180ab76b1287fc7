// One line in words; what was understood of it shows while it is typed.
import { CircleHelp, Plus } from "lucide-react";
import { type FormEvent, type ReactNode, type Ref, useEffect, useId, useState } from "react";
import { asProblem } from "../api/client";
import { t } from "../i18n";
import { useApp } from "../services/context";
import type { Writing } from "../services/outbox";
import { Button } from "./Button";

export type Understood = {
  /** What will be made, part by part. */
  chips: readonly string[];
  /** What it could mean, each with the line that says so; one is to be chosen. */
  choices: readonly { words: string; text: string }[];
  /** What is not understood, in a sentence. */
  problem?: string;
};

type QuickAddProps = {
  label: string;
  placeholder: string;
  /** Stands below the empty field. */
  hint?: string;
  understand: (text: string, signal: AbortSignal) => Promise<Understood>;
  /** Makes it; what it throws is told below the field, and the words stay. */
  onAdd: (text: string) => Promise<void>;
  /** What is sent later if the server cannot be reached now. */
  later?: (text: string) => Omit<Writing, "words">;
  field?: Ref<HTMLInputElement>;
  children?: ReactNode;
};

const TYPING_PAUSE_MS = 150;
const nothing: Understood = { chips: [], choices: [] };

function useUnderstood(text: string, understand: QuickAddProps["understand"], isKeptAway: boolean) {
  const [understood, setUnderstood] = useState(nothing);
  const [why, setWhy] = useState("");
  useEffect(() => {
    setWhy("");
    if (!text) setUnderstood(nothing);
    if (!text) return;
    const abort = new AbortController();
    const read = async () => {
      try {
        const found = await understand(text, abort.signal);
        if (!abort.signal.aborted) setUnderstood(found);
      } catch (error) {
        if (abort.signal.aborted) return;
        const problem = asProblem(error);
        setUnderstood(nothing);
        // Without the server it is kept as it is.
        if (problem.code !== "unreachable" || !isKeptAway) setWhy(problem.detail || problem.title);
      }
    };
    const timer = setTimeout(() => void read(), TYPING_PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text, understand, isKeptAway]);
  return { understood, why, setWhy };
}

export function QuickAdd(props: QuickAddProps) {
  const { label, placeholder, hint, onAdd, later, field, children } = props;
  const { outbox, toasts } = useApp();
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const note = useId();
  const words = text.trim();
  const { understood, why, setWhy } = useUnderstood(words, props.understand, Boolean(later));
  // What is ambiguous is asked, below.
  const fault = why || (understood.choices.length ? "" : (understood.problem ?? ""));
  const add = async (event: FormEvent) => {
    event.preventDefault();
    if (!words || busy) return;
    setBusy(true);
    try {
      await onAdd(words);
      setText("");
    } catch (error) {
      const problem = asProblem(error);
      const isAway = problem.code === "unreachable" && later;
      if (isAway && (await outbox.add({ ...later(words), words }))) {
        setText("");
        toasts.show(t("Kept here. It is sent when Bethink is back."));
      } else setWhy(problem.detail || problem.title);
    }
    setBusy(false);
  };
  return (
    <form className="quick-add" onSubmit={(event) => void add(event)}>
      <div className="quick-line">
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
      <div id={note} className="quick-note" role="status">
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
