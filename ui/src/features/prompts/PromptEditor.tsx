import { MessageSquareText, Trash2 } from "lucide-react";
import { type FormEvent, type KeyboardEvent, useId, useState } from "react";
import { asProblem, type Problem } from "../../api/client";
import { type Prompt, promptsApi } from "../../api/prompts";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { ProblemNotice } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { variablesOf } from "../../services/promptText";
import styles from "./Prompts.module.css";

type EditorProps = {
  /** Null for one that is not kept yet. */
  prompt: Prompt | null;
  onSaved: (prompt: Prompt) => void;
  onRemoved: (prompt: Prompt) => void;
};

const MAX_NAME_CHARS = 80;
const MAX_TEXT_CHARS = 20_000;

/** A prompt's name and text, and what of it will be asked for. */
export function PromptEditor({ prompt, onSaved, onRemoved }: EditorProps) {
  const { router, sessions, toasts } = useApp();
  const [name, setName] = useState(prompt?.name ?? "");
  const [text, setText] = useState(prompt?.text ?? "");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const hint = useId();
  const isChanged = name !== (prompt?.name ?? "") || text !== (prompt?.text ?? "");
  const isReady = name.trim() !== "" && text.trim() !== "" && isChanged && !busy;
  const save = async (event?: FormEvent) => {
    event?.preventDefault();
    if (!isReady) return;
    setBusy(true);
    try {
      const draft = { name: name.trim(), text };
      const kept = prompt ? await promptsApi.edit(prompt.id, draft) : await promptsApi.add(draft);
      setName(kept.name);
      setText(kept.text);
      setProblem(null);
      toasts.show(t("Prompt saved"));
      onSaved(kept);
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  };
  const remove = async (gone: Prompt) => {
    try {
      await promptsApi.remove(gone.id);
    } catch (error) {
      return toasts.fault(error);
    }
    onRemoved(gone);
    const again = () => promptsApi.add({ name: gone.name, text: gone.text });
    toasts.show(t("Prompt “{name}” deleted", { name: gone.name }), {
      label: t("Undo"),
      run: () => void again().then(onSaved, toasts.fault),
    });
  };
  const use = (kept: Prompt) => {
    sessions.of(null).draft.set(`/${kept.name}`);
    router.go("/");
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) void save();
  };
  return (
    <form className={styles.editor} onSubmit={save}>
      <h2>{prompt ? prompt.name : t("New prompt")}</h2>
      {problem && <ProblemNotice problem={problem} />}
      <label className="field">
        {t("Name")}
        <input
          className="input"
          // biome-ignore lint/a11y/noAutofocus: whoever begins a prompt names it
          autoFocus={!prompt}
          maxLength={MAX_NAME_CHARS}
          value={name}
          autoComplete="off"
          placeholder={t("For example: Polite letter")}
          onChange={(event) => setName(event.target.value)}
        />
      </label>
      <label className="field">
        {t("Text")}
        <textarea
          className={`input ${styles.text}`}
          rows={12}
          maxLength={MAX_TEXT_CHARS}
          value={text}
          aria-describedby={hint}
          placeholder={t("For example: Write a {tone} letter about {topic}.", {
            tone: "{{tone|friendly}}",
            topic: "{{topic}}",
          })}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={press}
        />
      </label>
      <Variables id={hint} text={text} />
      <div className="actions">
        {prompt && (
          <>
            <Button look="fault" icon={Trash2} onClick={() => void remove(prompt)}>
              {t("Delete")}
            </Button>
            <span className="gap" />
            <Button icon={MessageSquareText} disabled={isChanged} onClick={() => use(prompt)}>
              {t("Use in a chat")}
            </Button>
          </>
        )}
        <Button look="primary" type="submit" disabled={!isReady}>
          {t("Save")}
        </Button>
      </div>
    </form>
  );
}

/** What a text will ask for when it is used, as it is written. */
function Variables({ id, text }: { id: string; text: string }) {
  const variables = variablesOf(text);
  return (
    <div id={id} className={styles.variables}>
      {variables.length ? (
        <>
          <p>{t("Asked for when you use it:")}</p>
          <ul aria-label={t("Variables")}>
            {variables.map((one) => (
              <li key={one.name}>
                {one.name}
                {one.default !== null && <small>{one.default || t("may be empty")}</small>}
              </li>
            ))}
          </ul>
        </>
      ) : (
        <p>
          {t("{topic} is asked for when you use it; {tone} has a value that can be changed.", {
            topic: "{{topic}}",
            tone: "{{tone|formal}}",
          })}
        </p>
      )}
    </div>
  );
}
