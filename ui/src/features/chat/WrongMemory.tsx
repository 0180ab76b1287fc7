// "Wrong?" beside a memory that an answer used: it is corrected or taken out of answers, with the way back.
import { CircleX, Pencil, ThumbsDown } from "lucide-react";
import { type FormEvent, useState } from "react";
import { api } from "../../api/client";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Menu } from "../../kit/Popover";
import { useApp } from "../../services/context";
import lines from "./MemoryLines.module.css";

type WrongProps = { id: string; text: string; onChanged: (text: string | null) => void };

/** What can be done with a memory that is wrong; each gives the text that is remembered now, or none. */
function useMending({ id, text, onChanged }: WrongProps) {
  const { toasts, memoryNews } = useApp();
  const receipt = (said: string, undo: string | null) => {
    void memoryNews.tell();
    if (!undo) return toasts.show(said);
    const back = async () => {
      try {
        await api.undo(undo);
        onChanged(text);
        await memoryNews.tell();
      } catch (error) {
        toasts.fault(error);
      }
    };
    toasts.show(said, { label: t("Undo"), run: () => void back() });
  };
  return {
    retract: async () => {
      try {
        const { undo } = await api.retractMemory(id);
        onChanged(null);
        receipt(t("Retracted: answers no longer use it"), undo);
      } catch (error) {
        toasts.fault(error);
      }
    },
    correct: async (content: string) => {
      try {
        const { undo } = await api.patchMemory(id, { content });
        onChanged(content);
        receipt(t("Corrected. The earlier version is kept as history"), undo);
      } catch (error) {
        toasts.fault(error);
      }
    },
  };
}

export function WrongMemory(props: WrongProps) {
  const [editing, setEditing] = useState(false);
  const [typed, setTyped] = useState(props.text);
  const { retract, correct } = useMending(props);
  const save = (event: FormEvent) => {
    event.preventDefault();
    const content = typed.trim();
    if (content && content !== props.text) void correct(content);
    setEditing(false);
  };
  if (editing) {
    return (
      <form className={lines.wrong} onSubmit={save}>
        <textarea
          className="input"
          aria-label={t("What is right")}
          // biome-ignore lint/a11y/noAutofocus: whoever asked to correct wants to write
          autoFocus
          rows={3}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          onKeyDown={(event) => event.key === "Escape" && setEditing(false)}
        />
        <div className="actions">
          <Button onClick={() => setEditing(false)}>{t("Cancel")}</Button>
          <Button look="primary" type="submit" disabled={!typed.trim()}>
            {t("Save")}
          </Button>
        </div>
      </form>
    );
  }
  return (
    <Menu
      icon={ThumbsDown}
      size={15}
      label={t("Wrong? {text}", { text: props.text })}
      items={[
        { label: t("Correct it"), icon: Pencil, run: () => setEditing(true) },
        {
          label: t("Not true: stop using it"),
          icon: CircleX,
          fault: true,
          run: () => void retract(),
        },
      ]}
    />
  );
}
