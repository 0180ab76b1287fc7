import { expect, test } from "vitest";
import type { GraphNode, GraphShown } from "../../api/documents";
import { drawn } from "../../kit/graph/graphLayout";
import { ALL, betweenOf, netOf, netOfAll, toneOf } from "./graphNet";

const node = (id: string, kind: string, topic: number | null = null): GraphNode => ({
  id,
  kind,
  label: id,
  source: null,
  document: null,
  page: null,
  topic,
});

const addressOf = (id: string | null) => `/documents/graph?node=${id}`;

const shown: GraphShown = {
  nodes: [
    node("a", "passage", 0),
    node("b", "fact", 0),
    node("c", "page"),
    node("document:d", "document"),
    node("name:n", "name"),
  ],
  edges: [
    { a: "document:d", b: "a", kind: "holds", weight: 1 },
    { a: "a", b: "b", kind: "alike", weight: 0.8 },
    { a: "a", b: "b", kind: "links", weight: 1 },
    { a: "name:n", b: "a", kind: "names", weight: 0.6 },
  ],
  topics: [{ number: 0, label: "boats", words: ["boats"], passages: 2 }],
  left: 0,
};

test("topics stand around the middle, what they hold around them", () => {
  const { spots } = drawn(netOfAll(shown, addressOf, "Everything"), ALL, 3);
  const far = Object.fromEntries(spots.map(({ id, distance }) => [id, distance]));
  expect(far).toEqual({
    all: 0,
    "topic:0": 1,
    "topic:none": 1,
    a: 2,
    b: 2,
    c: 2,
    "document:d": 3,
    "name:n": 3,
  });
});

test("kinds have shapes, the first topics colours", () => {
  const { nodes, links } = netOf(shown, addressOf);
  expect(nodes.map(({ shape, tone }) => [shape, tone])).toEqual([
    ["circle", 0],
    ["triangle", 0],
    ["sheet", undefined],
    ["square", undefined],
    ["diamond", undefined],
  ]);
  expect(nodes[0]?.address).toBe("/documents/graph?node=a");
  expect(links).toHaveLength(3);
  expect([toneOf(7), toneOf(8), toneOf(null)]).toEqual([7, undefined, undefined]);
});

test("how two hang together is said in words", () => {
  expect(betweenOf(shown, "b", "a")).toBe("says something alike, links to it");
  expect(betweenOf(shown, "document:d", "a")).toBe("stands in it");
  expect(betweenOf(shown, "a", "document:d")).toBe("holds it");
  expect(betweenOf(shown, "b", "c")).toBe("");
});
