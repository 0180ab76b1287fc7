import { expect, test } from "vitest";
import { filledIn, variablesOf } from "./promptText";

const LETTER = "Write a {{tone|friendly}} letter about {{topic}}. Sign it {{ tone }}.";

test("variables are found once, in their order, with their defaults", () => {
  expect(variablesOf(LETTER)).toEqual([
    { name: "tone", default: "friendly" },
    { name: "topic", default: null },
  ]);
  expect(variablesOf("{{a|}} {{}} {{ }} {{1st}} {{x y-z}} {not} {{{b}}} {{größe}}")).toEqual([
    { name: "a", default: "" },
    { name: "x y-z", default: null },
    { name: "b", default: null },
    { name: "größe", default: null },
  ]);
  expect(variablesOf(String.raw`\frac{{1}}{{2}} {{#if x}} {{ user.name }}`)).toEqual([]);
});

test("values stand for variables and are not read themselves", () => {
  expect(filledIn(LETTER, { topic: "{{tone}} $& $1" })).toBe(
    "Write a friendly letter about {{tone}} $& $1. Sign it friendly.",
  );
  expect(filledIn(LETTER, { topic: "rent", tone: "stern" })).toBe(
    "Write a stern letter about rent. Sign it stern.",
  );
});
