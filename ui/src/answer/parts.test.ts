import { expect, test } from "vitest";
import type { RecalledItem } from "../run/reduce";
import {
  addressOf,
  cited,
  citedFirst,
  codeIn,
  entriesOf,
  MARK,
  originOf,
  receiptOf,
  sourcesIn,
  titleOfTool,
  withMarks,
} from "./parts";

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
    `🚂 trains[1](/memory/f1 "${MARK}"), and s[2](/c/c1 "${MARK}")o.`,
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
    `a[1](/memory/f1 "${MARK}")b[1](/memory/f1 "${MARK}")cd`,
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
  const page = { id: "p.1", kind: "page", score: 1, source: "vault:trips/my oslo.md#Day 1" };
  expect(addressOf(page)).toBe("/vault/pages/trips/my%20oslo.md");
});

test("arguments are read as a person would say them", () => {
  const text = JSON.stringify({ to: "Mara", urgent: false, cc: ["a", "b"], at: null, x: { y: 1 } });
  expect(entriesOf(text)).toEqual([
    ["to", "Mara"],
    ["urgent", "no"],
    ["cc", "a, b"],
    ["at", "none"],
    ["x", '{ "y": 1 }'],
  ]);
  expect([entriesOf("[1]"), entriesOf("not JSON")]).toEqual([null, null]);
});

test("the code of a call is told from its other arguments", () => {
  const text = JSON.stringify({ code: "print(1)", session: 3 });
  expect(codeIn(text, "execute_code")).toEqual({
    name: "code",
    text: "print(1)",
    language: "python",
  });
  expect(codeIn(text, "box__execute_python")?.language).toBe("python");
  expect(codeIn('{"code": 4}', "execute_code")).toBeNull();
});

test("a result that is not the owner's says whose it is", () => {
  const code = JSON.stringify({ code: "1" });
  expect(originOf({ name: "execute_code", arguments: code }).mark).toBe("from a program");
  expect(originOf({ name: "fetch_url", arguments: "{}" }).mark).toBe("from outside");
});

test("a tool of a server is shown with the server's name", () => {
  expect(titleOfTool({ name: "git__git_log", label: "git: Show the log: all" })).toEqual({
    server: "git",
    label: "Show the log: all",
  });
  expect(titleOfTool({ name: "store_memory", label: "Remember: Paris" }).server).toBeNull();
});

test("a receipt says what was decided, and whether it holds from now on", () => {
  expect(receiptOf({ decision: "approve", always: false })).toBe("approved");
  expect(receiptOf({ decision: "approve", always: true })).toMatch(/always/);
  expect(receiptOf({ decision: "reject", always: true })).toMatch(/never/);
  expect(receiptOf({ decision: null, always: false })).toBe("");
});

test("a passage of a document leads to its place, in what was recalled and in what a tool said", () => {
  const source = "document:d1?content=ab&page=3&at=10-42";
  const address = "/documents/d1?content=ab&page=3&at=10-42";
  expect(addressOf({ id: "p", kind: "passage", score: 1, source })).toBe(address);
  expect(sourcesIn(`Lease (${source}), and more`)).toEqual([
    { text: "Lease (", address: null, at: 0 },
    { text: source, address, at: 7 },
    { text: "), and more", address: null, at: 7 + source.length },
  ]);
  expect(sourcesIn("no source").map(({ text }) => text)).toEqual(["no source"]);
});
