import { expect, test } from "vitest";
import type { ImportReport } from "../../api/types";
import { linesOf, shareOf } from "./importWords";

const none = { new: 0, grown: 0, known: 0, kept: 0, duplicates: 0, left: 0 };
const report: ImportReport = {
  conversations: { ...none, new: 2, known: 1 },
  pages: { ...none, kept: 1 },
  messages: 4,
  files: 0,
  characters: 10,
  size: 100,
  read: 25,
  first: null,
  last: null,
  topics: [],
  problems: [],
  problem_count: 0,
  note: "",
};

test("a report tells what is there, and nothing of what is not", () => {
  expect(linesOf(report, "done")).toEqual([
    "2 conversations new",
    "1 conversation already here",
    "1 page changed here since, not overwritten",
    "4 messages",
  ]);
});

test("of an import that was taken back it tells what went", () => {
  expect(linesOf(report, "undone")[0]).toBe("2 conversations removed");
});

test("a share is known once the size is", () => {
  expect(shareOf(report)).toBe(0.25);
  expect(shareOf({ ...report, size: 0 })).toBeNull();
  expect(shareOf(null)).toBeNull();
});
