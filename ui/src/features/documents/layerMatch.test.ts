import { expect, test } from "vitest";
import { layerSpans } from "./layerMatch";

const marked = (items: string[], text: string, part: string, from = 0) => {
  const begin = text.indexOf(part, from);
  return layerSpans(items, text, [begin, begin + part.length]).map(({ item, begin: a, end }) =>
    items[item]?.slice(a, end),
  );
};

test("a passage is found whatever its spaces, hyphens and marks of Markdown", () => {
  const items = ["The deposit is", " two months’ rent, to be", "re", "turned in March."];
  const text = "# Lease\n\nThe **deposit** is two months' rent, to be returned in March.";
  expect(marked(items, text, "**deposit** is two months' rent")).toEqual([
    "deposit is",
    " two months’ rent",
  ]);
  expect(marked(items, text, "returned in March")).toEqual(["re", "turned in March."]);
});

test("of equal words those are marked that stand at the same turn", () => {
  const items = ["rent one", "rent two", "rent three"];
  const text = "rent one\nrent two\nrent three";
  expect(layerSpans(items, text, [9, 13])).toEqual([{ item: 1, begin: 0, end: 4 }]);
});

test("a passage with other words inside is known by its two ends, or by its lines", () => {
  const head = "The landlord keeps the roof and the outer walls in repair";
  const tail = "and pays for the lift until the end of the contract";
  const items = [head, "[1] footnote", tail];
  const text = `${head} (see note one) ${tail}`;
  expect(layerSpans(items, text, [0, text.length]).map(({ item }) => item)).toEqual([0, 1, 2]);
  const turned = `${tail}\n${head}`;
  expect(layerSpans(items, turned, [0, turned.length]).map(({ item }) => item)).toEqual([0, 2]);
});

test("what does not stand on the page is not marked", () => {
  expect(layerSpans(["Something else"], "Not there at all", [0, 16])).toEqual([]);
  expect(layerSpans([], "words", [0, 5])).toEqual([]);
  expect(layerSpans(["a"], "—", [0, 1])).toEqual([]);
});
