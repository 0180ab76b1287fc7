import { expect, test } from "vitest";
import type { Memory } from "../../api/types";
import { pairsOf } from "./Contradictions";
import { paragraphsOf, sentenceOf } from "./profileText";
import { between, linesOf } from "./rows";
import { monthEnds } from "./TimeSlider";
import { everything, queryOf } from "./useMemories";
import { isFormatted, marked, spoken, validity, wordsOf } from "./words";

const memory = (id: string, more: Partial<Memory> = {}): Memory => ({
  id,
  content: `User likes ${id}`,
  category: "preferences",
  importance: 0.5,
  topics: [],
  created_at: "2026-05-03T10:00:00Z",
  valid_from: null,
  valid_until: null,
  state: "active",
  pinned: false,
  sources: [],
  supersedes: [],
  corrects: [],
  about: "owner",
  superseded_by: null,
  depends_on: [],
  doubts: [],
  ...more,
});

test("memories are sentences to their owner, and nothing else is made of them", () => {
  expect(
    [
      "User likes tea",
      "User's dog is called Pixel",
      "The user watches films.",
      "User studies law",
    ].map(sentenceOf),
  ).toEqual(["You like tea.", "Your dog is called Pixel.", "You watch films.", "You study law."]);
  expect(sentenceOf("User is not from Porto")).toBe("You are not from Porto.");
  expect(sentenceOf("User drinks their coffee black")).toBe("You drink your coffee black.");
  expect(sentenceOf("Anna lives in Berlin")).toBe("Anna lives in Berlin.");
  expect(sentenceOf("Ich mag Tee!")).toBe("Ich mag Tee!");
});

test("a date that was noted in brackets is said once", () => {
  const content = "We moved to Oslo in March (2026-03)";
  const told = (valid_from: string | null) =>
    paragraphsOf([memory("a", { content, valid_from })])[0]?.sentences[0];
  expect(told("2026-03-01T00:00:00Z")).toMatchObject({
    text: "We moved to Oslo in March.",
    when: "since March 2026",
  });
  expect(told(null)).toMatchObject({ text: "We moved to Oslo in March (2026-03).", when: "" });
});

test("a paragraph a category, the pinned first, and what is in doubt says so", () => {
  const doubted = memory("b", { doubts: [{ kind: "unclear", memory: null, at: null }] });
  const paragraphs = paragraphsOf([
    memory("a"),
    doubted,
    memory("c", { pinned: true }),
    memory("d", { category: "goals" }),
  ]);
  expect(paragraphs.map(({ category }) => category)).toEqual(["preferences", "goals"]);
  expect(paragraphs[0]?.sentences.map(({ id, isDoubted }) => [id, isDoubted])).toEqual([
    ["c", false],
    ["a", false],
    ["b", true],
  ]);
});

test("a year is told as a year, a month as a month, and a day only where it was said", () => {
  const since = (valid_from: string, content: string) =>
    validity(memory("x", { valid_from, content }));
  expect(since("1984-01-01T00:00:00Z", "Has a bicycle from 1984")).toBe("since 1984");
  expect(since("2021-03-01T00:00:00Z", "Vegetarian since March 2021")).toContain("March 2021");
  expect(since("2021-03-05T12:00:00Z", "Moved on 5 March 2021")).toMatch(/5/);
  expect(spoken("2022-01-01T00:00:00Z", "Married on 1 January 2022")).toMatch(/1/);
});

test("lines stand under heads by category or day, of a search under none", () => {
  const items = [memory("a"), memory("b"), memory("c", { category: "goals" })];
  expect(linesOf(items, "category").map((line) => line.id)).toEqual([
    "head Preferences",
    "a",
    "b",
    "head Goals",
    "c",
  ]);
  expect(linesOf(items, null)).toHaveLength(3);
  expect(linesOf(items, "newest")[0]).toMatchObject({ kind: "head" });
  expect(between(items, "c", "a")).toEqual(["a", "b", "c"]);
  expect(between(items, "gone", "b")).toEqual(["b"]);
});

test("what the search asked for is marked where it begins a word", () => {
  const words = wordsOf("the coffees, a tea");
  expect(marked("User drinks coffee with Theo", words).filter(({ isMarked }) => isMarked)).toEqual([
    { text: "coffee", isMarked: true },
    { text: "Theo", isMarked: true },
  ]);
  expect(marked("All of it", []).map(({ text }) => text)).toEqual(["All of it"]);
});

test("a filter asks the server for what it means, and a search leaves the state out", () => {
  expect(queryOf({ ...everything, query: " tea ", state: "retracted", pinned: true })).toEqual({
    category: "",
    source: "",
    trust: "",
    about: "",
    project: "",
    pinned: true,
    query: "tea",
  });
  const then = queryOf({ ...everything, asOf: "2026-03-31", order: "category" });
  expect(then).toMatchObject({ state: "active", order: "category" });
  expect(new Date(then.as_of ?? "").getTime()).toBe(new Date("2026-04-01T00:00").getTime());
  expect(queryOf({ ...everything, since: "garbage" })).not.toHaveProperty("since");
});

test("the slider goes from the first month that is known to the one before this", () => {
  expect(monthEnds("2025-12", new Date(2026, 2, 15))).toEqual([
    "2025-12-31",
    "2026-01-31",
    "2026-02-28",
  ]);
  expect(monthEnds("2026-03", new Date(2026, 2, 15))).toEqual([]);
  expect(monthEnds(undefined, new Date(2026, 2, 15))).toEqual([]);
});

test("each two that contradict each other are one pair", () => {
  const against = (id: string, other: string) =>
    memory(id, { doubts: [{ kind: "contradicts", memory: other, at: null }] });
  expect(pairsOf([against("a", "b"), against("b", "a"), against("c", "gone")])).toHaveLength(1);
});

test("only what has marks or formulas is set as Markdown", () => {
  expect(["Costs $5", "User likes tea", "It is 2 * 3"].map(isFormatted)).toEqual([
    false,
    false,
    false,
  ]);
  expect(["Uses `vim`", "$E = mc^2$", "one\ntwo", "[a](http://b)"].map(isFormatted)).toEqual([
    true,
    true,
    true,
    true,
  ]);
});
