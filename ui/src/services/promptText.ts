// Variables of a prompt, as the server reads them: `{{topic}}` is asked for, `{{tone|formal}}` has a value already.

export type Variable = { name: string; default: string | null };

const VARIABLE = /\{\{[ \t]*([\p{L}][\p{L}\p{N}_ -]{0,59}?)[ \t]*(?:\|([^{}|]{0,500}))?\}\}/gu;

/** The variables of a text, each once, in their order; the first default of a name holds. */
export function variablesOf(text: string): readonly Variable[] {
  const found = new Map<string, string | null>();
  for (const [, name = "", given] of text.matchAll(VARIABLE)) {
    if (found.get(name) == null) found.set(name, given === undefined ? null : given.trim());
  }
  return [...found].map(([name, value]) => ({ name, default: value }));
}

/** The text with values in place of its variables; what has no value has its default, or nothing. */
export function filledIn(text: string, values: Readonly<Record<string, string>>): string {
  const known = new Map(variablesOf(text).map((each) => [each.name, each.default]));
  return text.replace(
    VARIABLE,
    (_, name: string) => (values[name]?.trim() ? values[name] : known.get(name)) ?? "",
  );
}
