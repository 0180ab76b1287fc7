// Documents, collections and pages of the vault that a message is about. It names them in a line of its own, by which
// the model's tools find them, in their own words: what may be read of them, and how far it is trusted, is theirs to say.

export type NamedSource = { kind: "document" | "collection" | "page"; id: string; name: string };

const written = ({ kind, id, name }: NamedSource): string => {
  if (kind === "document") return `“${name}” (document:${id})`;
  if (kind === "collection") return `the collection “${name}” (collection:${id})`;
  return `the page “${name}” of the vault (file_path: ${id})`;
};

/** A message with the line that names them. */
export function withNamed(text: string, sources: readonly NamedSource[]): string {
  return sources.length ? `${text}\n\nAbout: ${sources.map(written).join(", ")}` : text;
}

const LINE = /\n\nAbout: (.+)$/u;
const ONE =
  /(?:the collection |the page )?“([^”]*)”(?: of the vault)? \((document|collection|file_path): ?([^)\s][^)]*)\)(?:, |$)/gu;

/** A message without the line that names what it is about, and what that names. */
export function namedIn(said: string): { text: string; sources: readonly NamedSource[] } {
  const line = LINE.exec(said)?.[1] ?? "";
  const found = [...line.matchAll(ONE)];
  // A line that says anything else is the owner's own.
  if (!line || found.map(([whole]) => whole).join("") !== line) return { text: said, sources: [] };
  const sources = found.map(([, name = "", kind, id = ""]): NamedSource => {
    if (kind === "document" || kind === "collection") return { kind, id, name };
    return { kind: "page", id, name };
  });
  return { text: said.slice(0, said.length - line.length - "\n\nAbout: ".length), sources };
}
