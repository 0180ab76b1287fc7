import { expect, test } from "vitest";
import { fitOf, fitting, namingAt, without } from "./completion";

const at = (text: string) => {
  const caret = text.indexOf("|");
  const found = namingAt(text.replace("|", ""), caret);
  return found && `${found.mark}${found.query}`;
};

test("a name begins with its mark, behind a space or at a beginning, and ends at the caret", () => {
  expect(at("/|")).toBe("/");
  expect(at("/rec|")).toBe("/rec");
  expect(at("/write letter|")).toBe("/write letter");
  expect(at("look at @no|tes")).toBe("@no");
  expect(at("see (#Lisbon trip|)")).toBe("#Lisbon trip");
  expect(at("a\n@|")).toBe("@");
  for (const text of [
    "me@example.org|",
    "# Heading|",
    "## x|",
    "a /b|",
    "/a/b|",
    "C#|",
    "x|",
    "|/a",
  ])
    expect(at(text)).toBe(null);
  expect(at("@one two three four five|")).toBe(null);
});

test("names fit by the beginnings of their words, in any order, whatever their accents", () => {
  expect(fitOf("trip lis", "Lisbon trip.md")).toBe(3);
  expect(fitOf("lisb", "Lisbon trip")).toBe(4);
  expect(fitOf("uber", "Über uns")).toBe(4);
  expect(fitOf("bon", "Lisbon")).toBe(2);
  expect(fitOf("lst", "Lisbon trip")).toBe(1);
  expect(fitOf("xyz", "Lisbon trip")).toBe(0);
  expect(fitOf("", "anything")).toBe(1);
});

test("the best fit comes first, and no more than are asked for", () => {
  const names = ["My letter", "Letter", "Late terror", "Rent"];
  expect(fitting(names, "let", (name) => name, 9)).toEqual(["Letter", "My letter", "Late terror"]);
  expect(fitting(names, "let", (name) => name, 1)).toEqual(["Letter"]);
});

test("what was typed goes when something is chosen, and no second space stays", () => {
  const naming = { mark: "@", query: "no", start: 5, end: 8 } as const;
  expect(without("look @no at it", naming)).toEqual({ text: "look at it", caret: 5 });
});
