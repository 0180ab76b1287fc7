// A server of tools as a form, as the configuration that it means, and as what other programs write.
import type { ServerConfig } from "../../api/settings";

export type ServerForm = {
  kind: "stdio" | "http";
  command: string;
  cwd: string;
  env: string;
  url: string;
  headers: string;
  sandbox: boolean;
  network: boolean;
  /** What it may write to, a line each. */
  writable: string;
};
export type ServerText = Exclude<keyof ServerForm, "kind" | "sandbox" | "network">;

export const emptyForm: ServerForm = {
  kind: "http",
  command: "",
  cwd: "",
  env: "",
  url: "",
  headers: "",
  sandbox: true,
  network: true,
  writable: "",
};

/** The words of a command line, as a POSIX shell takes them apart; null if a quote has no end. */
export function wordsOf(line: string): string[] | null {
  const words: string[] = [];
  const parts = /\s+|'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^\s'"\\]+)|(.)/gs;
  let word: string | null = null;
  for (const [whole, single, double, escaped, bare, rest] of line.trim().matchAll(parts)) {
    if (rest !== undefined) return null;
    if (/^\s/.test(whole)) {
      if (word !== null) words.push(word);
      word = null;
    } else {
      const text = single ?? double?.replace(/\\(["\\$`])/g, "$1") ?? escaped ?? bare ?? "";
      word = (word ?? "") + text;
    }
  }
  return word === null ? words : [...words, word];
}

/** The command line of words, quoted as Python's shlex does: what is shown is exactly what runs. */
export const lineOf = (words: readonly string[]): string =>
  words
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`))
    .join(" ");

/** `NAME=value` or `Name: value`, a line each. */
function pairsOf(text: string, mark: "=" | ":"): Record<string, string> {
  const lines = text.split("\n").filter((line) => line.includes(mark));
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(mark);
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
}

const textLines = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

/** How a program is held; what the owner said nothing of, and does not say now, stays unsaid. */
function holdOf(form: ServerForm, kept: ServerConfig): ServerConfig {
  const { sandbox, network } = form;
  if (!sandbox) return kept.command && kept.sandbox === undefined ? {} : { sandbox };
  const writable = textLines(form.writable);
  return { sandbox, ...(!network && { network }), ...(writable.length && { writable }) };
}

const linesOf = (pairs: Record<string, string> | undefined, mark: string) =>
  Object.entries(pairs ?? {})
    .map(([name, value]) => `${name}${mark}${value}`)
    .join("\n");

/** The configuration that a form means, upon what is kept of it; null if its command line is none. */
export function configOf(form: ServerForm, kept: ServerConfig = {}): ServerConfig | null {
  const { command: _, args: _a, env: _e, cwd: _c, url: _u, headers: _h, ...rest } = kept;
  const { sandbox: _s, network: _n, writable: _w, ...more } = rest;
  if (form.kind === "http") {
    const headers = pairsOf(form.headers, ":");
    if (!form.url.trim()) return null;
    return { ...more, url: form.url.trim(), ...(Object.keys(headers).length && { headers }) };
  }
  const [command, ...args] = wordsOf(form.command) ?? [];
  if (!command) return null;
  const env = pairsOf(form.env, "=");
  return {
    ...more,
    command,
    args,
    ...(Object.keys(env).length && { env }),
    ...(form.cwd.trim() && { cwd: form.cwd.trim() }),
    ...holdOf(form, kept),
  };
}

/** A configuration as a form; `sandbox` is what holds where it says nothing. */
export function formOf(config: ServerConfig, sandbox = false): ServerForm {
  return {
    kind: config.command ? "stdio" : "http",
    command: config.command ? lineOf([config.command, ...(config.args ?? [])]) : "",
    cwd: config.cwd ?? "",
    env: linesOf(config.env, "="),
    url: config.url ?? "",
    headers: linesOf(config.headers, ": "),
    sandbox: config.sandbox ?? (sandbox || config.network === false || !!config.writable?.length),
    network: config.network ?? true,
    writable: (config.writable ?? []).join("\n"),
  };
}

/** The command line that will run; empty for a server that runs elsewhere. */
export const commandOf = ({ command, args = [] }: ServerConfig): string =>
  command ? lineOf([command, ...args]) : "";

/** What other programs have under `mcpServers`: the first server in it; null if there is none. */
export function pasted(text: string): { name: string; form: ServerForm } | null {
  try {
    const found = JSON.parse(text);
    const servers = found.mcpServers ?? found.servers ?? found;
    const [first] = Object.entries(servers as Record<string, ServerConfig>);
    if (!first || typeof first[1] !== "object") return null;
    const [name, config] = first;
    return config.command || config.url ? { name, form: formOf(config, true) } : null;
  } catch {
    return null;
  }
}
