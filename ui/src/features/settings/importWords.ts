// An import's state, source and outcome in words.
import type { ImportReport, ImportShown, ImportTally } from "../../api/types";
import { count } from "../../services/words";

type State = ImportShown["state"];

export const WORKING: readonly State[] = ["reading", "applying", "undoing"];

const states: Record<State, string> = {
  reading: "Reading",
  ready: "Ready to import",
  applying: "Importing",
  done: "Imported",
  stopped: "Stopped",
  failed: "Failed",
  undoing: "Undoing",
  undone: "Undone",
};

const sources: Record<string, string> = {
  chatgpt: "ChatGPT",
  claude: "Claude",
  notion: "Notion",
  obsidian: "Obsidian",
  markdown: "Markdown",
};

export const stateName = (state: State): string => states[state] ?? state;
export const sourceOf = (source: string): string => sources[source] ?? source;
/** Whether it holds conversations; notes alone go into the vault only. */
export const holdsTalk = (source: string): boolean => source === "chatgpt" || source === "claude";

const outcomes: readonly (readonly [keyof ImportTally, string])[] = [
  ["new", "new"],
  ["grown", "extended"],
  ["known", "already here"],
  ["kept", "changed here since, not overwritten"],
  ["duplicates", "duplicate"],
  ["left", "skipped"],
];
const undone: typeof outcomes = [
  ["new", "removed"],
  ["grown", "restored"],
  ["kept", "changed here since, not removed"],
];

/** `12 conversations new`, line by line. */
export function linesOf(report: ImportReport, state: State): readonly string[] {
  const words = state === "undone" || state === "undoing" ? undone : outcomes;
  const told = (tally: ImportTally, one: string) =>
    words
      .filter(([name]) => tally[name] > 0)
      .map(([name, said]) => `${count(tally[name], one)} ${said}`);
  return [
    ...told(report.conversations, "conversation"),
    ...told(report.pages, "page"),
    ...(report.messages ? [count(report.messages, "message")] : []),
    ...(report.files ? [count(report.files, "file")] : []),
  ];
}

/** How much of an export was gone through, 0 to 1; null where nobody knows. */
export const shareOf = (report: ImportReport | null): number | null =>
  report?.size ? Math.min(1, report.read / report.size) : null;
