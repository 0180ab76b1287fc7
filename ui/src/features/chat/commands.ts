// The commands that the server runs without a language model; here they are only hinted at.
export type Command = { name: string; takes: string | null; does: string };

export const commands: readonly Command[] = [
  { name: "/remember", takes: "something to keep", does: "Keep a fact in memory" },
  { name: "/recall", takes: "what you look for", does: "Search memory" },
  { name: "/forget", takes: "what should go", does: "Find a memory and let it go" },
  { name: "/help", takes: null, does: "What can be done here" },
];

/** The commands that what is typed could become; none once there is more than a word. */
export function hinted(text: string): readonly Command[] {
  if (!/^\/[a-z]*$/i.test(text)) return [];
  return commands.filter((command) => command.name.startsWith(text.toLowerCase()));
}
