import { expect, test } from "vitest";
import type { KnownTool } from "../../api/types";
import { bySource, firstSentence, outcome } from "./toolWords";

const tool = (name: string, source: string): KnownTool => ({
  name,
  source,
  description: "",
  parameters: {},
  effect: "read",
  trust: "owner",
  rule: null,
});

test("tools stand under where they come from, Bethink's own first", () => {
  const groups = bySource([tool("b", "git"), tool("a", ""), tool("c", "files"), tool("d", "")]);
  expect(groups.map(({ name, tools }) => [name, tools.map((each) => each.name)])).toEqual([
    ["Bethink’s own", ["a", "d"]],
    ["files", ["c"]],
    ["git", ["b"]],
  ]);
});

test("an outcome is said in words, also one that is not known", () => {
  expect([outcome(null), outcome("rejected"), outcome("disk_on_fire")]).toEqual([
    "done",
    "not run",
    "disk on fire",
  ]);
});

test("a line shows the first sentence of a description", () => {
  expect(firstSentence("Finds 3.5 things.\nThen more.")).toBe("Finds 3.5 things.");
  expect(firstSentence("No end")).toBe("No end");
});
