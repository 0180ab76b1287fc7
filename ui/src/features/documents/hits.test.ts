import { expect, test } from "vitest";
import type { PassageHit } from "../../api/documents";
import { excerptOf, groupsOf, indicesOf, piecesOf, placeOf } from "./hits";

const hit = (id: string, document: string): PassageHit => ({
  id,
  document: { id: document, name: `${document}.pdf`, kind: "pdf" },
  content: "c",
  page: 1,
  pages: 1,
  label: "",
  heading: "",
  begin: 0,
  end: 1,
  text: "",
  marks: [],
  score: 1,
  source: "",
});

test("the passages of a document stand together, the best document first", () => {
  const groups = groupsOf([hit("1", "b"), hit("2", "a"), hit("3", "b")]);
  expect(groups.map(({ document, hits }) => [document.id, hits.map(({ id }) => id)])).toEqual([
    ["b", ["1", "3"]],
    ["a", ["2"]],
  ]);
});

test("marks count characters: an emoji before them moves nothing, and overlaps are marked once", () => {
  const said = (text: string, marks: [number, number][]) =>
    piecesOf(text, marks).map(({ text: part, marked }) => (marked ? `[${part}]` : part));
  expect(said("🚲 rent is due", [[2, 6]])).toEqual(["🚲 ", "[rent]", " is due"]);
  expect(
    said("rent due", [
      [5, 8],
      [0, 6],
      [40, 50],
    ]),
  ).toEqual(["[rent d]", "[ue]"]);
  expect(said("", [[0, 3]])).toEqual([]);
  expect(indicesOf("🚲🚲ab", [2, 3])).toEqual([4, 5]);
  expect(placeOf("🚲🚲ab", 4, 5)).toEqual([2, 3]);
});

test("of a long passage the part around its first marked word is shown", () => {
  const text = `${"far away words ".repeat(40)}the rent is due ${"and more ".repeat(60)}`;
  const at = text.indexOf("rent");
  const shown = excerptOf({ text, marks: [[at, at + 4]] });
  expect(shown[0]?.text).toBe("…");
  expect(shown.at(-1)?.text).toBe("…");
  expect(shown.filter(({ marked }) => marked).map((piece) => piece.text)).toEqual(["rent"]);
  expect(shown.map((piece) => piece.text).join("").length).toBeLessThan(330);
});
