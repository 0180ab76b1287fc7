// What tools may do, what was decided about them, and how their calls ended, in words.

import type { KnownTool, Rule, ToolCallRecord } from "../../api/types";
import { t } from "../../i18n";

export const effects = (): Record<KnownTool["effect"], string> => ({
  read: t("Only reads"),
  write: t("Changes your data; can be undone"),
  destructive: t("Cannot be undone"),
  egress: t("Sends data out of this machine"),
});

export const rules = (): readonly { value: NonNullable<Rule>; label: string }[] => [
  { value: "auto", label: t("Always allow") },
  { value: "ask", label: t("Ask each time") },
  { value: "deny", label: t("Never allow") },
];

/** What holds where nothing was decided. */
export const usual = (): Record<KnownTool["effect"], string> => ({
  read: t("Default: allow"),
  write: t("Default: allow"),
  destructive: t("Default: ask each time"),
  egress: t("Default: ask after content from outside"),
});

export type ToolGroup = { source: string; name: string; tools: readonly KnownTool[] };

/** The tools by where they come from: Bethink's own first, then by name. */
export function bySource(tools: readonly KnownTool[]): ToolGroup[] {
  const sources = [...new Set(tools.map(({ source }) => source))];
  return sources
    .sort((a, b) => a.localeCompare(b))
    .map((source) => ({
      source,
      name: source || t("Bethink’s own"),
      tools: tools.filter((tool) => tool.source === source),
    }));
}

const deciders = (): Record<ToolCallRecord["by"], string> => ({
  policy: t("allowed by rule"),
  approve: t("you approved"),
  edit: t("you edited it"),
  reject: t("you rejected"),
  deny: t("not allowed"),
});
export const decidedBy = (by: ToolCallRecord["by"]): string => deciders()[by] ?? by;

const endings = (): Record<string, string> => ({
  rejected: t("not run"),
  denied: t("not run"),
  not_decided: t("no decision in time"),
  timeout: t("took too long"),
  tool_timeout: t("took too long"),
  rate_limited: t("rate limit"),
  bad_input: t("invalid arguments"),
  bad_arguments: t("invalid arguments"),
  cancelled: t("stopped"),
  unknown_tool: t("no such tool"),
  mcp_tool_error: t("failed on the server"),
  forgotten: t("not run: content was forgotten"),
});

/** How a call ended; an error without words of its own is said by its code. */
export function outcome(error: string | null): string {
  return error === null ? t("done") : (endings()[error] ?? error.replaceAll("_", " "));
}

/** The first sentence of a description, for a line. */
export function firstSentence(text: string): string {
  return /^.+?[.!?](?=\s|$)/s.exec(text.trim())?.[0].replace(/\s+/g, " ") ?? text.trim();
}
