// The commands that the server runs without a language model; here they are only hinted at.
export type Command = { name: string; takes: string | null; does: string };

export const commands: readonly Command[] = [
  { name: "/remember", takes: "a fact", does: "Keep a fact in memory" },
  { name: "/recall", takes: "words to look for", does: "Search memory" },
  { name: "/forget", takes: "what to forget", does: "Find a memory and forget it" },
  { name: "/help", takes: null, does: "List the commands" },
];

/** The commands that what is typed could become; none once there is more than a word. */
export function hinted(text: string): readonly Command[] {
  if (!/^\/[a-z]*$/i.test(text)) return [];
  return commands.filter((command) => command.name.startsWith(text.toLowerCase()));
}
