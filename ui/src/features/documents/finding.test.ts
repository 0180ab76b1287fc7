import { expect, test } from "vitest";
import { findNext, patternOf, placesIn } from "./finding";

const pages = new Map([
  [2, "The rent is due. The Rent is high."],
  [70, "Last words about RENT"],
]);
const count = 120;
const read = (first: number, last: number) =>
  Promise.resolve({
    count,
    items: Array.from({ length: last - first + 1 }, (_, i) => ({
      number: first + i,
      label: "",
      text: pages.get(first + i) ?? "",
    })),
  });
const how = { back: false, count, read, signal: new AbortController().signal };

test("words are found from page to page, forward, backward and around the ends", async () => {
  const start = { page: 1, at: [-1, 0] as const };
  const one = await findNext("rent", start, how);
  expect(one).toEqual({ page: 2, at: [4, 8] });
  const two = one && (await findNext("rent", one, how));
  expect(two).toEqual({ page: 2, at: [21, 25] });
  const three = two && (await findNext("rent", two, how));
  expect(three).toEqual({ page: 70, at: [17, 21] });
  expect(three && (await findNext("rent", three, how))).toEqual(one);
  expect(one && (await findNext("rent", one, { ...how, back: true }))).toEqual(three);
  expect(await findNext("lease", start, how)).toBeNull();
});

test("what is typed is words, not an expression", () => {
  expect(patternOf("  ")).toBeNull();
  const pattern = patternOf("a.b (c");
  expect(pattern && placesIn({ number: 1, label: "", text: "axb (c a.b\n(C" }, pattern)).toEqual([
    { page: 1, at: [7, 13] },
  ]);
  const words = patternOf("BRAKES were");
  expect(words && placesIn({ number: 1, label: "", text: "**brakes** were" }, words)).toEqual([
    { page: 1, at: [2, 15] },
  ]);
});
