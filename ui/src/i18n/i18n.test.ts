import { expect, test } from "vitest";
import { languageOf, t } from ".";

test("the chosen language wins, then the first of the browser's that there is", () => {
  expect(languageOf(["fr-FR", "de-AT", "en"], null)).toBe("de");
  expect(languageOf(["de"], "en")).toBe("en");
  expect(languageOf(["fr"], null)).toBe("en");
});

test("a sentence has the form of its number", () => {
  const sentence = "{count, plural, one {# memory} other {# memories}} of {name}";
  expect(t(sentence, { count: 1, name: "Ann" })).toBe("1 memory of Ann");
  expect(t(sentence, { count: 2, name: "Ann" })).toBe("2 memories of Ann");
});
