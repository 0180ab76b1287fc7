// Documents and collections of the library that a message is about. It names them in a line of its own, by which
// the model's search finds them.

export type NamedSource = { kind: "document" | "collection"; id: string; name: string };

/** A message with the line that names them. */
export function withNamed(text: string, sources: readonly NamedSource[]): string {
  if (!sources.length) return text;
  const names = sources.map(({ kind, id, name }) =>
    kind === "document"
      ? `“${name}” (document:${id})`
      : `the collection “${name}” (collection:${id})`,
  );
  return `${text}\n\nAbout: ${names.join(", ")}`;
}
