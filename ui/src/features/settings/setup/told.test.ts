import { expect, test } from "vitest";
import { sampleQuestions } from "./told";

test("the first questions fit what was told", () => {
  expect(sampleQuestions({ name: "Ann", place: "Porto" }, false)).toEqual([
    "What could I do in Porto this weekend?",
    "What do you know about me?",
    "Remember that I prefer trains to planes",
  ]);
  expect(sampleQuestions({ name: "", place: "" }, true)[0]).toContain("old conversations");
  expect(sampleQuestions({ name: "", place: "" }, false)).toHaveLength(3);
});
