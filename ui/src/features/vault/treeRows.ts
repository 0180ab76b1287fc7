// The rows of the tree from the paths of pages and folders. Pure.
import type { VaultEntry } from "../../api/types";

/** A page or folder as the tree shows it; `children` are paths. */
export type TreeNode = {
  path: string;
  name: string;
  isFolder: boolean;
  problem: string | null;
  children: readonly string[];
};

/** The id of the vault itself in the tree; no path is like it. */
export const ROOT = "/";

type Node = { entry: VaultEntry; children: Node[] };

export const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")));
export const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);
/** A page's name without its ending. */
export const titleOf = (path: string): string => nameOf(path).replace(/\.md$/, "");

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
const order = (a: Node, b: Node): number =>
  Number(b.entry.is_folder) - Number(a.entry.is_folder) ||
  collator.compare(a.entry.path, b.entry.path);

const folder = (path: string): Node => ({
  entry: { path, is_folder: true, size: 0, changed_at: null, problem: null },
  children: [],
});

/** All entries as a tree, folders first; a folder that only its pages tell of is there, too. */
export function treeOf(entries: Iterable<VaultEntry>): Node {
  const root = folder("");
  const folders = new Map<string, Node>([["", root]]);
  const at = (path: string): Node => {
    const known = folders.get(path);
    if (known) return known;
    const made = folder(path);
    folders.set(path, made);
    at(folderOf(path)).children.push(made);
    return made;
  };
  for (const entry of entries) {
    if (entry.is_folder) at(entry.path).entry = entry;
    else at(folderOf(entry.path)).children.push({ entry, children: [] });
  }
  for (const node of folders.values()) node.children.sort(order);
  return root;
}

/** All of the tree by path, the vault itself by `ROOT`. */
export function nodesOf(root: Node): Map<string, TreeNode> {
  const found = new Map<string, TreeNode>();
  const walk = ({ entry: { path, is_folder: isFolder, problem }, children }: Node) => {
    const name = isFolder ? nameOf(path) : titleOf(path);
    const below = children.map(({ entry }) => entry.path);
    found.set(path || ROOT, { path, name, isFolder, problem, children: below });
    children.forEach(walk);
  };
  walk(root);
  return found;
}

/** The pages that are among these, or in folders that are; each once. */
export const pagesIn = (pages: readonly string[], chosen: readonly string[]): string[] =>
  pages.filter((page) => chosen.some((one) => page === one || page.startsWith(`${one}/`)));

/** Where the pages go if what is chosen goes into a folder: what lies in a chosen folder stays in it. */
export function movesInto(
  pages: readonly string[],
  chosen: readonly string[],
  folder: string,
): { path: string; to: string }[] {
  const top = chosen.filter((one) => !chosen.some((other) => one.startsWith(`${other}/`)));
  const base = folder ? `${folder}/` : "";
  return top.flatMap((one) =>
    pagesIn(pages, [one]).flatMap((path) => {
      const to = base + path.slice(folderOf(one) ? folderOf(one).length + 1 : 0);
      return to === path ? [] : [{ path, to }];
    }),
  );
}

/** The folders above a path. */
export function above(path: string): string[] {
  const found: string[] = [];
  for (let up = folderOf(path); up; up = folderOf(up)) found.push(up);
  return found;
}

/** Pages whose path holds all the words, those whose name begins with them first. */
export function named(paths: readonly string[], query: string, most: number): string[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const rank = (path: string): number => {
    const name = titleOf(path).toLowerCase();
    if (name.startsWith(words[0] ?? "")) return 0;
    return words.every((word) => name.includes(word)) ? 1 : 2;
  };
  const fold = (path: string) => path.replaceAll("_", " ").toLowerCase() + path.toLowerCase();
  return paths
    .filter((path) => {
      const text = fold(path);
      return words.every((word) => text.includes(word));
    })
    .map((path) => [rank(path), path] as const)
    .toSorted(([a, one], [b, other]) => a - b || collator.compare(one, other))
    .slice(0, most)
    .map(([, path]) => path);
}
