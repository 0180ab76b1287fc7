import { expect, test } from "vitest";
import { above, movesInto, named, nodesOf, pagesIn, ROOT, titleOf, treeOf } from "./treeRows";

const page = (path: string) => ({
  path,
  is_folder: false,
  size: 1,
  changed_at: null,
  problem: null,
});

const nodes = (paths: string[]) => nodesOf(treeOf(paths.map(page)));
const below = (paths: string[], folder = ROOT) => nodes(paths).get(folder)?.children;

test("folders come first, and hold what is in them", () => {
  const paths = ["user.md", "b/c/deep.md", "b/two.md", "a/one.md"];
  expect(below(paths)).toEqual(["a", "b", "user.md"]);
  expect(below(paths, "b")).toEqual(["b/c", "b/two.md"]);
  expect(nodes(paths).get("b/c")).toMatchObject({ name: "c", isFolder: true });
});

test("numbers are in the order of counting", () => {
  expect(below(["note 10.md", "note 9.md"])).toEqual(["note 9.md", "note 10.md"]);
});

test("what is chosen goes into a folder with all that is in it, and what is in a chosen folder stays in it", () => {
  const paths = ["a/b/one.md", "a/two.md", "ab.md", "user.md"];
  expect(pagesIn(paths, ["a"])).toEqual(["a/b/one.md", "a/two.md"]);
  expect(movesInto(paths, ["a/b", "user.md"], "z")).toEqual([
    { path: "a/b/one.md", to: "z/b/one.md" },
    { path: "user.md", to: "z/user.md" },
  ]);
  expect(movesInto(paths, ["a", "a/two.md"], "z").map(({ to }) => to)).toEqual([
    "z/a/b/one.md",
    "z/a/two.md",
  ]);
  expect(movesInto(paths, ["a/two.md", "user.md"], "")).toEqual([
    { path: "a/two.md", to: "two.md" },
  ]);
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
  expect(nodes(paths).size).toBe(10_101);
});
