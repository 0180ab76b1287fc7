import { type KeyboardEvent, useMemo, useState } from "react";
import { isCommand } from "./commands";
import { namingAt } from "./completion";
import { type Option, useOptions } from "./useOptions";

type Typed = { text: string; caret: number; conversation: string | null };

export type Completion = ReturnType<typeof useCompletion>;

/** The options for what is being named at the caret, which of them is chosen, and the keys that choose. */
export function useCompletion(
  { text, caret, conversation }: Typed,
  choose: (option: Option) => void,
) {
  const [at, setAt] = useState(0);
  /** Where a list was closed: it stays closed until another name is begun. */
  const [closed, setClosed] = useState<number | null>(null);
  const found = useMemo(() => namingAt(text, caret), [text, caret]);
  const naming = found && found.start !== closed ? found : null;
  const options = useOptions(naming, conversation);
  const list = options ?? [];
  const current = Math.min(at, list.length - 1);
  /** A bare mark says what it is for, also where there is nothing to choose. */
  const isEmpty = naming !== null && options !== null && !list.length && !naming.query;
  const take = (option: Option | undefined) => {
    setAt(0);
    if (option) choose(option);
  };
  /** True where the key was meant for the list. */
  const press = (event: KeyboardEvent): boolean => {
    if (!naming || event.shiftKey) return false;
    // What is not known yet is waited for, not sent.
    if (options === null) return event.key === "Enter" && !isCommand(text);
    if (!list.length && !(isEmpty && event.key === "Escape")) return false;
    const chosen = list[current];
    // A whole command is sent as it stands.
    const whole = chosen?.choice.kind === "command" && chosen.name === text && !chosen.takes;
    if (event.key === "ArrowDown") setAt((current + 1) % list.length);
    else if (event.key === "ArrowUp") setAt((current - 1 + list.length) % list.length);
    else if (event.key === "Escape") setClosed(naming.start);
    else if (event.key === "Tab" || (event.key === "Enter" && !whole)) take(chosen);
    else return false;
    return true;
  };
  const reset = () => {
    setAt(0);
    if (closed !== null && found?.start !== closed) setClosed(null);
  };
  return { naming, options: list, current, isEmpty, press, take, reset };
}
