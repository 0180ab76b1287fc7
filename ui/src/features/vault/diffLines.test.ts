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

test("two texts differ where they are not the same at both ends", () => {
  expect(differing("a\nb\nc", "a\nx\nc")).toEqual([
    { kind: "removed", text: "b" },
    { kind: "added", text: "x" },
  ]);
  expect(differing("a", "a")).toEqual([]);
  expect(differing("a\na", "a\na\na")).toEqual([{ kind: "added", text: "a" }]);
});
