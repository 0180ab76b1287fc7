// Links between pages, as the preview and the completion need them. The server decides what is kept;
// this only has to show a text that is not saved yet. Pure.
import { addressOfPage } from "../../services/router";
import { folderOf, titleOf } from "./treeRows";

export type Wikilink = { target: string; label: string };

/** What stands within the brackets of a link, taken apart. */
export function partsOf(inner: string): Wikilink {
  const bar = inner.search(/\\?\|/);
  const named = bar < 0 ? inner : inner.slice(0, bar);
  const label =
    bar < 0
      ? ""
      : inner
          .slice(bar)
          .replace(/^\\?\|/, "")
          .trim();
  const [path = "", place] = named.split("#", 2);
  const target = path.trim();
  return { target, label: label || (place ? `${target} › ${place.trim()}` : titleOf(target)) };
}

const keyOf = (name: string): string =>
  name.normalize("NFC").trim().replaceAll("\\", "/").toLowerCase().replace(/\.md$/, "");

function joined(folder: string, target: string): string {
  const parts: string[] = [];
  for (const part of `${folder}/${target}`.split("/")) {
    if (part === "..") parts.pop();
    else if (part && part !== ".") parts.push(part);
  }
  return parts.join("/");
}

/** Which page a link means, by path, place beside its page, or name; the one nearest to the top first. */
export class Pages {
  readonly #byPath = new Map<string, string>();
  readonly #byName = new Map<string, string[]>();

  constructor(readonly paths: readonly string[]) {
    const depth = (path: string) => path.split("/").length;
    for (const path of paths.toSorted((a, b) => depth(a) - depth(b) || (a < b ? -1 : 1))) {
      const key = keyOf(path);
      this.#byPath.set(key, path);
      const name = key.slice(key.lastIndexOf("/") + 1);
      const same = this.#byName.get(name);
      if (same) same.push(path);
      else this.#byName.set(name, [path]);
    }
  }

  resolve(target: string, from: string): string | null {
    if (!target) return from;
    const key = keyOf(target).replace(/^\/+/, "");
    const folder = keyOf(folderOf(from));
    const exact = this.#byPath.get(key) ?? this.#byPath.get(joined(folder, key));
    if (exact) return exact;
    const same = this.#byName.get(key.slice(key.lastIndexOf("/") + 1)) ?? [];
    return same.find((path) => keyOf(path).endsWith(key)) ?? null;
  }

  /** The shortest name that leads to the page. */
  shortest(path: string, from: string): string {
    const name = titleOf(path);
    return this.resolve(name, from) === path ? name : path.replace(/\.md$/, "");
  }
}

const CODE = /(```[\s\S]*?(?:```|$)|`[^`\n]*`)/;
const WIKI = /!?\[\[([^[\]\n]+)\]\]/g;

/** Markdown with links between pages as links to their addresses; one that leads nowhere is its words. */
export function addressed(markdown: string, pages: Pages): string {
  const linked = (match: string, inner: string) => {
    const { target, label } = partsOf(inner);
    const path = target ? pages.resolve(target, "") : null;
    if (!path) return target ? label : match;
    return `[${label.replace(/[\\[\]]/g, "\\$&")}](<${addressOfPage(path)}>)`;
  };
  // Every other piece is code.
  const pieces = markdown.split(CODE);
  return pieces.map((piece, i) => (i % 2 ? piece : piece.replace(WIKI, linked))).join("");
}

/** The path at which a page is made that a link names and that is not there. */
export const pathFor = (target: string): string => {
  const clean = target.replace(/^\/+/, "").replace(/\.md$/i, "");
  return `${clean}.md`;
};

/** What is being typed behind `[[`, up to the caret; null where no link is open. */
export function openLink(text: string, caret: number): { start: number; typed: string } | null {
  const start = text.lastIndexOf("[[", caret - 1);
  if (start < 0 || caret < start + 2) return null;
  const typed = text.slice(start + 2, caret);
  return /[\]\n|]/.test(typed) || typed.length > 100 ? null : { start: start + 2, typed };
}
