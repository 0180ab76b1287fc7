import { useState } from "react";
import { serversApi } from "../../api/servers";
import type { Session } from "../../run/session";
import { useApp } from "../../services/context";
import { filledIn, type Variable, variablesOf } from "../../services/promptText";
import { namingAt, without } from "./completion";
import type { Choice, Option } from "./useOptions";
import type { Writing } from "./useWriting";

type Field = Pick<Writing, "text" | "caret" | "put">;
type Values = Readonly<Record<string, string>>;
type Filling = { key: string; name: string; variables: readonly Variable[]; choice: Choice };

/** What a prompt leaves open; nothing for what is none. */
function gapsOf(choice: Choice): readonly Variable[] {
  if (choice.kind === "prompt") return variablesOf(choice.prompt.text);
  if (choice.kind !== "foreign") return [];
  return choice.prompt.arguments.map(({ name, required }) => ({
    name,
    default: required ? null : "",
  }));
}

/** What happens when an option is chosen: a command is written, a prompt is filled in, the rest becomes a chip. */
export function useChoices(session: Session, { text, caret, put }: Field) {
  const { router, toasts } = useApp();
  const [filling, setFilling] = useState<Filling | null>(null);
  const insert = async (choice: Choice, values: Values, rest: string) => {
    if (choice.kind === "prompt") {
      const filled = filledIn(choice.prompt.text, values);
      put(filled + rest, filled.length);
    } else if (choice.kind === "foreign") {
      const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value));
      const made = await serversApi.prompt(choice.server, choice.prompt.name, given);
      if (made.untrusted) session.foreign.set(true);
      put(made.text + rest, made.text.length);
    }
  };
  const choose = ({ key, name, choice }: Option) => {
    const naming = namingAt(text, caret);
    if (!naming) return;
    const rest = without(text, naming);
    switch (choice.kind) {
      case "command":
        put(choice.command.takes ? `${choice.command.name} ` : choice.command.name);
        return;
      case "prompt":
      case "foreign": {
        put(rest.text, rest.caret);
        const variables = gapsOf(choice);
        if (variables.length) setFilling({ key, name, variables, choice });
        else void insert(choice, {}, rest.text).catch(toasts.fault);
        return;
      }
      case "file":
        put(rest.text, rest.caret);
        session.uploads.attach(choice.file);
        return;
      case "resource":
        put(rest.text, rest.caret);
        void session.lend(choice.server, choice.uri).catch(toasts.fault);
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
    onDone: (values: Values) => {
      setFilling(null);
      if (filling) void insert(filling.choice, values, text).catch(toasts.fault);
    },
    onCancel: () => {
      setFilling(null);
      put(text);
    },
  };
  return { choose, filling, fill };
}
