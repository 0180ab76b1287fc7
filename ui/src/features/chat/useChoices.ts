import { useState } from "react";
import type { Prompt } from "../../api/prompts";
import type { Session } from "../../run/session";
import { useApp } from "../../services/context";
import { variablesOf } from "../../services/promptText";
import { namingAt, without } from "./completion";
import type { Option } from "./useOptions";
import type { Writing } from "./useWriting";

type Field = Pick<Writing, "text" | "caret" | "put">;

/** What happens when an option is chosen: a command is written, a prompt is filled in, the rest becomes a chip. */
export function useChoices(session: Session, { text, caret, put }: Field) {
  const { router } = useApp();
  const [filling, setFilling] = useState<Prompt | null>(null);
  const choose = ({ choice }: Option) => {
    const naming = namingAt(text, caret);
    if (!naming) return;
    const rest = without(text, naming);
    switch (choice.kind) {
      case "command":
        put(choice.command.takes ? `${choice.command.name} ` : choice.command.name);
        return;
      case "prompt":
        put(rest.text, rest.caret);
        if (variablesOf(choice.prompt.text).length) setFilling(choice.prompt);
        else put(choice.prompt.text + rest.text, choice.prompt.text.length);
        return;
      case "file":
        put(rest.text, rest.caret);
        session.uploads.attach(choice.file);
        return;
      case "source": {
        put(rest.text, rest.caret);
        const others = session.named.get().filter(({ id }) => id !== choice.source.id);
        session.named.set([...others, choice.source]);
        return;
      }
      case "place":
        put(rest.text, rest.caret);
        router.go(choice.path);
    }
  };
  const fill = {
    onDone: (filled: string) => {
      setFilling(null);
      put(filled + text, filled.length);
    },
    onCancel: () => {
      setFilling(null);
      put(text);
    },
  };
  return { choose, filling, fill };
}
