// What a filter says, in words.
import type { VaultFilter } from "../../api/types";

export const actions = [
  { value: "hide", label: "Hide", told: "Hides" },
  { value: "mask", label: "Mask", told: "Masks" },
  { value: "generalise", label: "Generalise", told: "Generalises" },
] as const;

export const patterns = [
  { value: "", label: "Everything there" },
  { value: "email", label: "E-mail addresses" },
  { value: "phone", label: "Phone numbers" },
  { value: "card", label: "Card numbers" },
  { value: "birth_date", label: "Dates of birth" },
  { value: "number", label: "Numbers" },
] as const;

/** Audiences that can be chosen; others are typed. */
export const audiences = [
  { value: "", label: "Everybody but me" },
  { value: "*/agent", label: "The agent, in every client" },
  { value: "mcp-*", label: "Programs connected by MCP" },
  { value: "rest:*", label: "Programs with a key" },
  { value: "openai*", label: "Clients of the OpenAI address" },
  { value: "dial", label: "DIAL" },
] as const;

/** Whom a page can be looked at as. */
export const readers = [
  { value: "web/agent", label: "The agent, on this page" },
  { value: "mcp-http:client", label: "A program connected by MCP" },
  { value: "rest:key", label: "A program with a key" },
  { value: "openai:key", label: "A client of the OpenAI address" },
  { value: "dial", label: "DIAL" },
] as const;

/** In the middle of a sentence. */
const lowered = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);

/** One sentence: what is hidden, where, from whom. */
export function told(filter: VaultFilter): string {
  if (filter.text) return `Tells the model: ${filter.text}`;
  const action = actions.find(({ value }) => value === filter.action)?.told ?? filter.action;
  const pattern = patterns.find(({ value }) => value && value === filter.pattern);
  const what = filter.pattern
    ? ((pattern && lowered(pattern.label)) ?? `text that matches ${filter.pattern}`)
    : filter.field
      ? `the field ${filter.field}`
      : "everything";
  const places = [
    filter.pattern && filter.field ? `in the field ${filter.field}` : "",
    filter.section ? `in the section ${filter.section}` : "",
    filter.path ? `in ${filter.path}` : "on every page",
  ].filter(Boolean);
  const names = filter.audiences.map((one) =>
    lowered(audiences.find(({ value }) => value === one)?.label ?? one),
  );
  const whom = names.length ? names.join(", ") : "everybody but you";
  return `${action} ${what} ${places.join(", ")} from ${whom}`;
}
