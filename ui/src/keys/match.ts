// From a key press to the binding it completes. Pure, so that it can be tested without a page.

export type Press = {
  key: string;
  mod: boolean;
  shift: boolean;
  alt: boolean;
};

/** Writes a press like the bindings are written: `mod+shift+o`. */
export function comboOf(press: Press): string {
  const key = press.key.toLowerCase();
  // A sign such as `?` already says that Shift was held; a letter or a named key does not.
  const shifted = press.shift && (/^[a-z']$/.test(key) || key.length > 1);
  return [press.mod && "mod", press.alt && "alt", shifted && "shift", key]
    .filter(Boolean)
    .join("+");
}

/** How long the second key of a sequence is waited for. */
export const SEQUENCE_MS = 1200;

type Bound = { id: string; combo: string };
export type Matched = { id: string | null; pending: string };

/** The binding completed by `combo` after what is `pending`, and what is pending now. */
export function match(bound: readonly Bound[], pending: string, combo: string): Matched {
  const typed = pending ? `${pending} ${combo}` : combo;
  const found = bound.find((each) => each.combo === typed);
  if (found) return { id: found.id, pending: "" };
  if (bound.some((each) => each.combo.startsWith(`${typed} `))) return { id: null, pending: typed };
  return pending ? match(bound, "", combo) : { id: null, pending: "" };
}

/** While somebody writes, plain keys are letters: only combinations that type nothing count. */
export function countsWhileWriting(combo: string): boolean {
  return combo.startsWith("mod+") || combo === "shift+escape";
}
