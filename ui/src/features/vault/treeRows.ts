// The rows of the tree from the paths of pages and folders. Pure.
import type { VaultEntry } from "../../api/types";

export type Row = {
  path: string;
  name: string;
  level: number;
  isFolder: boolean;
  open: boolean;
  problem: string | null;
  /** Which of its folder's entries it is, from 1, and how many there are. */
  place: number;
  size: number;
};

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

/** The rows that are to be seen while these folders are open. */
export function rowsOf(root: Node, open: ReadonlySet<string>): Row[] {
  const rows: Row[] = [];
  const walk = (node: Node, level: number) => {
    node.children.forEach(({ entry, children }, i) => {
      const { path, is_folder: isFolder, problem } = entry;
      const isOpen = isFolder && open.has(path);
      rows.push({
        path,
        name: isFolder ? nameOf(path) : titleOf(path),
        level,
        isFolder,
        open: isOpen,
        problem,
        place: i + 1,
        size: node.children.length,
      });
      if (isOpen) walk({ entry, children }, level + 1);
    });
  };
  walk(root, 1);
  return rows;
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
