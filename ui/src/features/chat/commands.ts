// The commands that the server runs without a language model; here they are only offered.
import { t } from "../../i18n";

export type Command = { name: string; takes: string | null; does: string };

export const commands = (): readonly Command[] => [
  { name: "/remember", takes: t("a fact"), does: t("Keep a fact in memory") },
  { name: "/recall", takes: t("words to look for"), does: t("Search memory") },
  { name: "/forget", takes: t("what to forget"), does: t("Find a memory and forget it") },
  { name: "/help", takes: null, does: t("List the commands") },
];

/** Whether a text is a command with its words: it is sent as it stands, whatever else it could still name. */
export const isCommand = (text: string): boolean =>
  commands().some(
    ({ name, takes }) =>
      takes !== null && /\S/.test(text.slice(name.length)) && text.startsWith(`${name} `),
  );
