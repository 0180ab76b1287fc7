// What a filter says, in words.
import type { VaultFilter } from "../../api/types";
import { t } from "../../i18n";

export const actions = () =>
  [
    { value: "hide", label: t("Hide") },
    { value: "mask", label: t("Mask") },
    { value: "generalise", label: t("Generalise") },
  ] as const;

export const patterns = () =>
  [
    { value: "", label: t("Everything there") },
    { value: "email", label: t("E-mail addresses") },
    { value: "phone", label: t("Phone numbers") },
    { value: "card", label: t("Card numbers") },
    { value: "birth_date", label: t("Dates of birth") },
    { value: "number", label: t("Numbers") },
  ] as const;

/** Audiences that can be chosen; others are typed. */
export const audiences = () =>
  [
    { value: "", label: t("Everybody but me") },
    { value: "*/agent", label: t("The agent, in every client") },
    { value: "mcp-*", label: t("Programs connected by MCP") },
    { value: "rest:*", label: t("Programs with a key") },
    { value: "openai*", label: t("Clients of the OpenAI address") },
    { value: "dial", label: "DIAL" },
  ] as const;

/** Whom a page can be looked at as: the agent first. */
export const THE_AGENT = "web/agent";
export const readers = () =>
  [
    { value: THE_AGENT, label: t("The agent, on this page") },
    { value: "mcp-http:client", label: t("A program connected by MCP") },
    { value: "rest:key", label: t("A program with a key") },
    { value: "openai:key", label: t("A client of the OpenAI address") },
    { value: "dial", label: "DIAL" },
  ] as const;

/** What of a text is meant, in the middle of a sentence. */
function whatOf({ pattern, field }: VaultFilter): string {
  const known: Record<string, string> = {
    email: t("e-mail addresses"),
    phone: t("phone numbers"),
    card: t("card numbers"),
    birth_date: t("dates of birth"),
    number: t("numbers"),
  };
  if (pattern) return known[pattern] ?? t("text that matches {pattern}", { pattern });
  return field ? t("the field {field}", { field }) : t("everything");
}

/** From whom, in the middle of a sentence. */
function whomOf({ audiences }: VaultFilter): string {
  const known: Record<string, string> = {
    "*/agent": t("the agent, in every client"),
    "mcp-*": t("programs connected by MCP"),
    "rest:*": t("programs with a key"),
    "openai*": t("clients of the OpenAI address"),
    dial: "DIAL",
  };
  return audiences.map((one) => known[one] ?? one).join(", ") || t("everybody but you");
}

/** One sentence: what is hidden, where, from whom. */
export function told(filter: VaultFilter): string {
  const { text, action, pattern, field, section, path } = filter;
  if (text) return t("Tells the model: {text}", { text });
  const where = [
    pattern && field ? t("in the field {field}", { field }) : "",
    section ? t("in the section {section}", { section }) : "",
    path ? t("in {path}", { path }) : t("on every page"),
  ]
    .filter(Boolean)
    .join(", ");
  const values = { what: whatOf(filter), where, whom: whomOf(filter) };
  if (action === "mask") return t("Masks {what} {where} from {whom}", values);
  if (action === "generalise") return t("Generalises {what} {where} from {whom}", values);
  return t("Hides {what} {where} from {whom}", values);
}
