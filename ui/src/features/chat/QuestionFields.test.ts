import { expect, test } from "vitest";
import type { QuestionField } from "../../contract/openapi";
import { startOf, valuesOf } from "./QuestionFields";

const fields: readonly QuestionField[] = [
  { name: "city", kind: "text", required: true },
  { name: "guests", kind: "integer", default: 2 },
  { name: "late", kind: "boolean" },
  { name: "rooms", kind: "choices", choices: [{ value: "q", title: "Quiet" }] },
];

test("begins with what the server suggests", () => {
  expect(startOf(fields)).toEqual({ city: "", guests: "2", late: false, rooms: [] });
});

test("sends numbers as numbers, and leaves out what is empty", () => {
  const typed = { ...startOf(fields), guests: "3", rooms: ["q"] };
  expect(valuesOf(fields, typed)).toEqual({ guests: 3, late: false, rooms: ["q"] });
});
