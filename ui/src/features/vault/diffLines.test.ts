import { expect, test } from "vitest";
import { differing, linesOf } from "./diffLines";

test("a unified diff is read line by line", () => {
  const diff =
    "--- a/x.md\told\n+++ b/x.md\tnew\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n@@ -9 +9 @@\n--- x\n";
  expect(linesOf(diff)).toEqual([
    { kind: "same", text: "one" },
    { kind: "removed", text: "two" },
    { kind: "added", text: "2" },
    { kind: "place", text: "" },
    { kind: "removed", text: "-- x" },
  ]);
  expect(linesOf("")).toEqual([]);
});

test("two texts differ in each place where they do, with a little of what is the same around it", () => {
  const said = (old: string, fresh: string) =>
    differing(old, fresh).map(({ kind, text }) => `${kind} ${text}`.trim());
  expect(said("a\nb\nc", "a\nx\nc")).toEqual(["same a", "removed b", "added x", "same c"]);
  expect(said("a", "a")).toEqual([]);
  expect(said("1\n2\n3\n4\n5\n6\n7", "x\n2\n3\n4\n5\n6\ny")).toEqual([
    "removed 1",
    "added x",
    "same 2",
    "same 3",
    "place",
    "same 5",
    "same 6",
    "removed 7",
    "added y",
  ]);
  // Texts that have nothing in common are one change.
  const lines = (name: string) => Array.from({ length: 900 }, (_, i) => `${name} ${i}`).join("\n");
  expect(said(lines("a"), lines("b"))).toHaveLength(1800);
});
