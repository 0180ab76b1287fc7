import { expect, test } from "vitest";
import { recurrenceWords } from "./recurrence";

test("in English the server has said it", () => {
  expect(recurrenceWords("FREQ=DAILY", "every day")).toBe("every day");
  expect(recurrenceWords(null, null)).toBe("");
});
