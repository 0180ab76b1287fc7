import { type KeyboardEvent, useState } from "react";
import { type Command, hinted } from "./commands";

/** The commands that what is typed may become, which of them is chosen, and the keys that choose. */
export function useHints(text: string, put: (text: string) => void) {
  const [at, setAt] = useState(0);
  const [hushed, setHushed] = useState(false);
  const hints = hushed ? [] : hinted(text);
  const current = Math.min(at, hints.length - 1);
  const choose = (command: Command | undefined) =>
    command && put(command.takes ? `${command.name} ` : command.name);
  /** True where the key was meant for the hints. */
  const press = (event: KeyboardEvent): boolean => {
    if (!hints.length || event.shiftKey) return false;
    const chosen = hints[current];
    const whole = chosen?.name === text && !chosen.takes;
    if (event.key === "ArrowDown") setAt((at + 1) % hints.length);
    else if (event.key === "ArrowUp") setAt((at - 1 + hints.length) % hints.length);
    else if (event.key === "Escape") setHushed(true);
    else if (event.key === "Tab" || (event.key === "Enter" && !whole)) choose(chosen);
    else return false;
    return true;
  };
  const reset = () => {
    setHushed(false);
    setAt(0);
  };
  return { hints, current, choose, press, reset };
}
