import { expect, test } from "vitest";
import type { RecalledItem } from "../../run/reduce";
import { addressOf, cited, citedFirst, withMarks } from "./parts";

const fact: RecalledItem = { id: "f1", kind: "fact", score: 0.9 };
const other: RecalledItem = { id: "f2", kind: "fact", score: 0.4 };
const turn: RecalledItem = { id: "t1", kind: "turn", score: 0.5, source: "conversation:c1#m1" };

test("a mark becomes a numbered link to the memory, whatever characters stand before it", () => {
  const run = {
    used: [
      { id: "f1", after: 8 },
      { id: "t1", after: 15 },
    ],
    recalled: [turn, fact],
  };
  expect(withMarks("🚂 trains, and so.", run)).toBe(
    '🚂 trains[1](/memory/f1 "cited"), and s[2](/c/c1 "cited")o.',
  );
});

test("a memory that is named twice keeps its number, and an unknown one gets no link", () => {
  const used = [
    { id: "f2", after: 4 },
    { id: "gone", after: 3 },
    { id: "f1", after: 1 },
    { id: "f1", after: 2 },
  ];
  expect(cited({ used })).toEqual(["f1", "gone", "f2"]);
  expect(withMarks("abcd", { used, recalled: [fact] })).toBe(
    'a[1](/memory/f1 "cited")b[1](/memory/f1 "cited")cd',
  );
});

test("what the answer names comes before what it was only given", () => {
  const run = { used: [{ id: "f2", after: 1 }], recalled: [fact, turn, other] };
  expect(citedFirst(run).map(({ item, number }) => [item.id, number])).toEqual([
    ["f2", 1],
    ["f1", 0],
    ["t1", 0],
  ]);
});

test("what has no page has no address", () => {
  expect(addressOf({ id: "n1", kind: "note", score: 1 })).toBeNull();
});
