// What the pieces of an answer say, and how they are put together.
import { t } from "../i18n";
import type { Part, RecalledItem, Run, ToolPart, Unbacked } from "../run/reduce";
import { addressOfSource } from "../services/router";

/** The words of an answer, without its tools and its reasoning. */
export function answerText(run: Run): string {
  return run.parts
    .filter((part) => part.type === "text")
    .map((part) => part.text.trim())
    .filter(Boolean)
    .join("\n\n");
}

export type Block =
  | { type: "tools"; key: string; tools: readonly ToolPart[] }
  | Exclude<Part, ToolPart>;

/** Calls that follow one another are shown together. */
export function blocksOf(parts: readonly Part[]): Block[] {
  const blocks: Block[] = [];
  for (const part of parts) {
    const last = blocks.at(-1);
    if (part.type !== "tool") blocks.push(part);
    else if (last?.type === "tools") {
      blocks[blocks.length - 1] = { ...last, tools: [...last.tools, part] };
    } else blocks.push({ type: "tools", key: part.key, tools: [part] });
  }
  return blocks;
}

/** Arguments or results as names and values, where they are a JSON object. */
export function entriesOf(text: string): [name: string, value: string][] | null {
  const value = objectIn(text);
  return value && Object.entries(value).map(([name, inside]) => [name, inWords(inside)]);
}

export function objectIn(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    const fits = value && typeof value === "object" && !Array.isArray(value);
    return fits ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** A value as a person reads it: text as it is, yes and no, lists and the rest in one line. */
function inWords(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return value ? t("yes") : t("no");
  if (value === null) return t("none");
  const isPlain = (each: unknown) => typeof each === "string" || typeof each === "number";
  if (Array.isArray(value) && value.length && value.every(isPlain)) return value.join(", ");
  return JSON.stringify(value, null, 1).replace(/\s*\n\s*/g, " ");
}

/** Arguments that hold a program, by their names, and the language where it goes without saying. */
const languages: Record<string, string> = { execute_code: "python", execute_python: "python" };

/** The code that a call runs: its argument `code`, where that is text. */
export function codeIn(
  text: string,
  tool: string,
): { name: string; text: string; language: string } | null {
  const code = objectIn(text)?.code;
  if (typeof code !== "string") return null;
  const bare = tool.slice(tool.lastIndexOf("__") < 0 ? 0 : tool.lastIndexOf("__") + 2);
  return { name: "code", text: code, language: languages[bare] ?? "code" };
}

/** A call of an MCP server's tool is said as `server: what`; the tool's name then has the server, too. */
export function titleOfTool({ name, label }: Pick<ToolPart, "name" | "label">) {
  const [, server = "", rest = ""] = /^([^\s:]{1,64}): (.+)$/s.exec(label) ?? [];
  return name.includes("__") && rest ? { server, label: rest } : { server: null, label };
}

/** Whose words an untrusted result is, for its line and for a sentence. */
export function originOf({ arguments: text, name }: Pick<ToolPart, "arguments" | "name">) {
  return codeIn(text, name)
    ? { mark: t("from a program"), words: t("Output of a program, not your words.") }
    : { mark: t("from outside"), words: t("Content from outside, not your words.") };
}

/** What the owner decided about a call, in words. */
export function receiptOf({ decision, always }: Pick<ToolPart, "decision" | "always">): string {
  if (!decision) return "";
  if (always) {
    return decision === "reject"
      ? t("rejected; this tool is never used again")
      : t("approved; this tool always runs without asking");
  }
  return {
    approve: t("approved"),
    edit: t("approved with your changes"),
    reject: t("rejected"),
  }[decision];
}

export function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** The address at which a memory can be read; null for what has no page of its own yet. */
export function addressOf({ kind, id, source }: RecalledItem): string | null {
  if (kind === "fact") return `/memory/${id}`;
  const page = kind === "page" ? /^vault:(.*?\.md)(?:#|$)/.exec(source ?? "")?.[1] : null;
  if (page) return `/vault/pages/${page.split("/").map(encodeURIComponent).join("/")}`;
  const document = addressOfSource(source ?? "");
  if (document) return document;
  const talk = /^conversation:([^#]+)/.exec(source ?? "")?.[1];
  return talk ? `/c/${talk}` : null;
}

export type SourcePiece = { text: string; address: string | null; at: number };

/** A text in pieces: the sources of documents in it have the address of their passage. */
export function sourcesIn(text: string): SourcePiece[] {
  const pieces: SourcePiece[] = [];
  let done = 0;
  for (const match of text.matchAll(/document:[\w-]+(?:\?[\w=&%-]+)?/g)) {
    if (match.index > done) {
      pieces.push({ text: text.slice(done, match.index), address: null, at: done });
    }
    pieces.push({ text: match[0], address: addressOfSource(match[0]), at: match.index });
    done = match.index + match[0].length;
  }
  return [...pieces, { text: text.slice(done), address: null, at: done }];
}

/** The memories that an answer names, in the order in which it does; their places are their numbers. */
export function cited({ used }: Pick<Run, "used">): string[] {
  return [...new Set(used.toSorted((a, b) => a.after - b.after).map(({ id }) => id))];
}

/** The title of the links that are placed here: no answer can know it, so no link of its own becomes a mark. */
export const MARK = `cited-${crypto.getRandomValues(new Uint32Array(4)).join("-")}`;

/** The Markdown of an answer with a numbered link behind each place where it leans on a memory. */
export function withMarks(text: string, run: Pick<Run, "used" | "recalled">): string {
  if (!run.used.length) return text;
  const numbered = cited(run);
  // A mark counts characters, of which an emoji is one; a string's own indices count it as two.
  const characters = Array.from(text);
  for (const { id, after } of run.used.toSorted((a, b) => b.after - a.after)) {
    const item = run.recalled.find((each) => each.id === id);
    const address = item && addressOf(item);
    if (address) characters.splice(after, 0, `[${numbered.indexOf(id) + 1}](${address} "${MARK}")`);
  }
  return characters.join("");
}

/** `number` is 0 where the answer does not name the memory. */
type NumberedItem = { item: RecalledItem; number: number };

/** Recalled memories, those that the answer names before the others and in its order. */
export function citedFirst(run: Pick<Run, "used" | "recalled">): NumberedItem[] {
  const ids = cited(run);
  const numbered = run.recalled.map((item) => ({ item, number: ids.indexOf(item.id) + 1 }));
  const place = ({ number }: NumberedItem) => number || ids.length + 1;
  return numbered.toSorted((a, b) => place(a) - place(b));
}

export const claimName = (claim: Unbacked["claim"]): string =>
  ({
    saved: t("Nothing was saved"),
    changed: t("Nothing was changed"),
    deleted: t("Nothing was deleted"),
    scheduled: t("Nothing was scheduled"),
    sent: t("Nothing was sent"),
  })[claim];

/** A word for what has one; a newer server knows more. */
const named = (words: Record<string, string>, name: string): string => words[name] ?? name;

export const kindName = (kind: string): string =>
  named(
    {
      fact: t("Memory"),
      turn: t("Earlier conversation"),
      page: t("Vault page"),
      passage: t("Document"),
    },
    kind,
  );

export const changeName = (change: string): string =>
  named(
    {
      added: t("Remembered"),
      merged: t("Already known, confirmed"),
      superseded: t("Changed"),
      corrected: t("Corrected"),
      suggested: t("Suggested, waiting for your review"),
      retracted: t("Retracted"),
      restored: t("Restored"),
      forgotten: t("Forgotten"),
    },
    change,
  );

/** The artifact that a call made or changed, as its result names it. */
export function artifactIn({ text, name, state }: Pick<ToolPart, "text" | "name" | "state">) {
  const bare = name.slice(name.lastIndexOf("__") + 1).replace(/^_/, "");
  if (state !== "done" || !/^(create|update)_artifact$/.test(bare)) return null;
  const found = /(?:“(.*)” )?\(artifact:([\w-]+)\?version=(\d+)\)/s.exec(text);
  if (!found) return null;
  return { title: found[1] ?? "", id: found[2] ?? "", version: Number(found[3]) };
}
