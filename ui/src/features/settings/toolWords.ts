// What tools may do, what was decided about them, and how their calls ended, in words.
import type { KnownTool, Rule, ToolCallRecord } from "../../api/types";

export const effects: Record<KnownTool["effect"], string> = {
  read: "Only reads",
  write: "Changes your data; can be undone",
  destructive: "Cannot be undone",
  egress: "Sends data out of this machine",
};

export const rules: readonly { value: NonNullable<Rule>; label: string }[] = [
  { value: "auto", label: "Always allow" },
  { value: "ask", label: "Ask each time" },
  { value: "deny", label: "Never allow" },
];

/** What holds where nothing was decided. */
export const usual: Record<KnownTool["effect"], string> = {
  read: "Default: allow",
  write: "Default: allow",
  destructive: "Default: ask each time",
  egress: "Default: ask after content from outside",
};

export type ToolGroup = { source: string; name: string; tools: readonly KnownTool[] };

/** The tools by where they come from: Bethink's own first, then by name. */
export function bySource(tools: readonly KnownTool[]): ToolGroup[] {
  const sources = [...new Set(tools.map(({ source }) => source))];
  return sources
    .sort((a, b) => a.localeCompare(b))
    .map((source) => ({
      source,
      name: source || "Bethink’s own",
      tools: tools.filter((tool) => tool.source === source),
    }));
}

const deciders: Record<ToolCallRecord["by"], string> = {
  policy: "allowed by rule",
  approve: "you approved",
  edit: "you edited it",
  reject: "you rejected",
  deny: "not allowed",
};
export const decidedBy = (by: ToolCallRecord["by"]): string => deciders[by] ?? by;

const endings: Record<string, string> = {
  rejected: "not run",
  denied: "not run",
  not_decided: "no decision in time",
  timeout: "took too long",
  tool_timeout: "took too long",
  rate_limited: "rate limit",
  bad_input: "invalid arguments",
  bad_arguments: "invalid arguments",
  cancelled: "stopped",
  unknown_tool: "no such tool",
  mcp_tool_error: "failed on the server",
  forgotten: "not run: content was forgotten",
};

/** How a call ended; an error without words of its own is said by its code. */
export function outcome(error: string | null): string {
  return error === null ? "done" : (endings[error] ?? error.replaceAll("_", " "));
}

/** The first sentence of a description, for a line. */
export function firstSentence(text: string): string {
  return /^.+?[.!?](?=\s|$)/s.exec(text.trim())?.[0].replace(/\s+/g, " ") ?? text.trim();
}
