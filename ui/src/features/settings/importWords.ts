// An import's state, source and outcome in words.
import type { ImportReport, ImportShown, ImportTally } from "../../api/types";
import { t } from "../../i18n";

type State = ImportShown["state"];

export const WORKING: readonly State[] = ["reading", "applying", "undoing"];

const states = (): Record<State, string> => ({
  reading: t("Reading"),
  ready: t("Ready to import"),
  applying: t("Importing"),
  done: t("Imported"),
  stopped: t("Stopped"),
  failed: t("Failed"),
  undoing: t("Undoing"),
  undone: t("Undone"),
});

const sources: Record<string, string> = {
  chatgpt: "ChatGPT",
  claude: "Claude",
  notion: "Notion",
  obsidian: "Obsidian",
  markdown: "Markdown",
};

export const stateName = (state: State): string => states()[state] ?? state;
export const sourceOf = (source: string): string => sources[source] ?? source;
/** Whether it holds conversations; notes alone go into the vault only. */
export const holdsTalk = (source: string): boolean => source === "chatgpt" || source === "claude";

type Outcomes = readonly (readonly [keyof ImportTally, (what: string) => string])[];

const outcomes: Outcomes = [
  ["new", (what) => t("{what} new", { what })],
  ["grown", (what) => t("{what} extended", { what })],
  ["known", (what) => t("{what} already here", { what })],
  ["kept", (what) => t("{what} changed here since, not overwritten", { what })],
  ["duplicates", (what) => t("{what} duplicate", { what })],
  ["left", (what) => t("{what} skipped", { what })],
];
const undone: Outcomes = [
  ["new", (what) => t("{what} removed", { what })],
  ["grown", (what) => t("{what} restored", { what })],
  ["kept", (what) => t("{what} changed here since, not removed", { what })],
];

const conversations = (count: number) =>
  t("{count, plural, one {# conversation} other {# conversations}}", { count });
const pages = (count: number) => t("{count, plural, one {# page} other {# pages}}", { count });

/** `12 conversations new`, line by line. */
export function linesOf(report: ImportReport, state: State): readonly string[] {
  const words = state === "undone" || state === "undoing" ? undone : outcomes;
  const told = (tally: ImportTally, some: (count: number) => string) =>
    words.filter(([name]) => tally[name] > 0).map(([name, say]) => say(some(tally[name])));
  const { messages, files } = report;
  return [
    ...told(report.conversations, conversations),
    ...told(report.pages, pages),
    ...(messages
      ? [t("{count, plural, one {# message} other {# messages}}", { count: messages })]
      : []),
    ...(files ? [t("{count, plural, one {# file} other {# files}}", { count: files })] : []),
  ];
}

/** Whether an export holds nothing that can be taken in. */
export const isEmpty = ({ conversations: talks, pages: notes }: ImportReport): boolean =>
  [talks, notes].every((all) => outcomes.every(([name]) => name === "left" || all[name] === 0));

/** How much of an export was gone through, 0 to 1; null where nobody knows. */
export const shareOf = (report: ImportReport | null): number | null =>
  report?.size ? Math.min(1, report.read / report.size) : null;
