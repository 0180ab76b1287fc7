import { expect, test } from "vitest";
import { above, named, rowsOf, titleOf, treeOf } from "./treeRows";

const page = (path: string) => ({
  path,
  is_folder: false,
  size: 1,
  changed_at: null,
  problem: null,
});

const shown = (open: string[], paths: string[]) =>
  rowsOf(treeOf(paths.map(page)), new Set(open)).map(({ level, name }) => `${level} ${name}`);

test("folders come first, and show what is in them while they are open", () => {
  const paths = ["user.md", "b/c/deep.md", "b/two.md", "a/one.md"];
  expect(shown([], paths)).toEqual(["1 a", "1 b", "1 user"]);
  expect(shown(["b", "b/c"], paths)).toEqual(["1 a", "1 b", "2 c", "3 deep", "2 two", "1 user"]);
  expect(shown(["b/c"], paths)).toEqual(["1 a", "1 b", "1 user"]);
});

test("numbers are in the order of counting", () => {
  expect(shown([], ["note 10.md", "note 9.md"])).toEqual(["1 note 9", "1 note 10"]);
});

test("pages are found by words of their names", () => {
  const paths = ["entities/jane_doe.md", "notes/about jane.md", "doe.md", "zebra.md"];
  expect(named(paths, "jane doe", 9)).toEqual(["entities/jane_doe.md"]);
  expect(named(paths, "ja", 9)).toEqual(["entities/jane_doe.md", "notes/about jane.md"]);
  expect(named(paths, "entities", 9)).toEqual(["entities/jane_doe.md"]);
  expect(named(paths, " ", 9)).toEqual([]);
  expect(named(paths, "d", 1)).toEqual(["doe.md"]);
});

test("the folders above a page are known", () => {
  expect(above("a/b/c.md")).toEqual(["a/b", "a"]);
  expect(above("c.md")).toEqual([]);
  expect(titleOf("a/b.c.md")).toBe("b.c");
});

test("ten thousand pages make their rows in no time", () => {
  const paths = Array.from({ length: 10_000 }, (_, i) => `f${i % 100}/page ${i}.md`);
  const root = treeOf(paths.map(page));
  const open = new Set(Array.from({ length: 100 }, (_, i) => `f${i}`));
  expect(rowsOf(root, open)).toHaveLength(10_100);
});
