import { expect, test } from "vitest";
import { Problem } from "../../api/client";
import { type Draft, draftOf, type Happening, happened, isUnsaved } from "./draft";

const page = (text: string, version = text) => ({
  path: "a.md",
  text,
  version,
  size: text.length,
  changed_at: "2026-11-22T10:00:00Z",
  problems: [],
});

const after = (...all: Happening[]): Draft => all.reduce(happened, draftOf(page("one")));
const typed = { kind: "typed", text: "mine" } as const;

test("what is typed is unsaved until it is saved", () => {
  expect(isUnsaved(after())).toBe(false);
  expect(isUnsaved(after(typed))).toBe(true);
  const saved = after(
    typed,
    { kind: "saving" },
    { kind: "saved", path: "a.md", text: "mine", version: "v2" },
  );
  expect(isUnsaved(saved)).toBe(false);
  expect(saved.page?.version).toBe("v2");
});

test("what was typed while it was saved stays, unsaved", () => {
  const more = { kind: "typed", text: "mine and more" } as const;
  const saved = after(typed, { kind: "saving" }, more, {
    kind: "saved",
    path: "a.md",
    text: "mine",
    version: "v2",
  });
  expect(saved.text).toBe("mine and more");
  expect(isUnsaved(saved)).toBe(true);
});

test("what another wrote is taken in where nothing was typed", () => {
  expect(after({ kind: "read", page: page("two") }).text).toBe("two");
});

test("where both wrote, both texts are kept until one is chosen", () => {
  const both = after(typed, { kind: "read", page: page("two") });
  expect([both.text, both.theirs?.page?.text]).toEqual(["mine", "two"]);
  const mine = happened(both, { kind: "mine" });
  expect([mine.text, mine.page?.version, isUnsaved(mine)]).toEqual(["mine", "two", true]);
  const theirs = happened(both, { kind: "theirs" });
  expect([theirs.text, theirs.theirs, isUnsaved(theirs)]).toEqual(["two", null, false]);
});

test("a page that was deleted underneath keeps what was typed", () => {
  const gone = after(typed, { kind: "conflict", theirs: null });
  expect([gone.text, gone.theirs]).toEqual(["mine", { page: null }]);
  const mine = happened(gone, { kind: "mine" });
  expect([mine.page, isUnsaved(mine)]).toEqual([null, true]);
});

test("the same text written by both is no conflict", () => {
  const same = after(typed, { kind: "read", page: page("mine", "v9") });
  expect([same.theirs, same.page?.version]).toEqual([null, "v9"]);
});

test("a failure keeps what was typed", () => {
  const failed = after(typed, { kind: "failed", problem: new Problem("x", "No", "", 503) });
  expect([failed.text, failed.problem?.title, failed.saving]).toEqual(["mine", "No", false]);
});
