// What the pieces of an answer say, and how they are put together.
import type { Part, Run, ToolPart } from "../../run/reduce";

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
  try {
    const value: unknown = JSON.parse(text);
    if (!value || typeof value !== "object" || Array.isArray(value)) return null;
    return Object.entries(value).map(([name, inside]) => [
      name,
      typeof inside === "string"
        ? inside
        : JSON.stringify(inside, null, 1).replace(/\s*\n\s*/g, " "),
    ]);
  } catch {
    return null;
  }
}

export function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

const kinds: Record<string, string> = {
  fact: "Memory",
  turn: "Earlier conversation",
  page: "Vault page",
  passage: "Document",
};
export const kindName = (kind: string): string => kinds[kind] ?? kind;

const changes: Record<string, string> = {
  added: "Remembered",
  merged: "Already known, confirmed",
  superseded: "Corrected",
  retracted: "Retracted",
  restored: "Restored",
  forgotten: "Forgotten",
};
export const changeName = (change: string): string => changes[change] ?? change;
