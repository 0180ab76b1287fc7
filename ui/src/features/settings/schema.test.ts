import { expect, test } from "vitest";
import { choicesIn, widgetOf } from "./schema";

test("each type has its widget", () => {
  expect(widgetOf({ type: "boolean" })).toEqual({ kind: "switch" });
  expect(widgetOf({ type: "string", enum: ["off", "store"] })).toMatchObject({
    kind: "choice",
    optional: false,
  });
  expect(widgetOf({ anyOf: [{ type: "integer", minimum: 1 }, { type: "null" }] })).toEqual({
    kind: "number",
    whole: true,
    min: 1,
    max: undefined,
    optional: true,
  });
  expect(widgetOf({ anyOf: [{ type: "boolean" }, { type: "null" }] })).toMatchObject({
    kind: "choice",
    options: [true, false],
  });
  expect(widgetOf({ anyOf: [{ type: "string" }, { type: "null" }], examples: ["low"] })).toEqual({
    kind: "text",
    maxLength: undefined,
    optional: true,
    examples: ["low"],
  });
  expect(widgetOf({ type: "array", items: { type: "string" } })).toEqual({
    kind: "texts",
    numbers: false,
  });
  expect(widgetOf({ type: "array", items: { enum: ["card", "ssn"] } })).toMatchObject({
    kind: "checks",
  });
});

test("what a schema refers to is looked up, and what nobody knows is JSON", () => {
  const $defs = { Price: { type: "object", properties: { input: { type: "number" } } } };
  expect(
    widgetOf({ type: "object", additionalProperties: { $ref: "#/$defs/Price" }, $defs }),
  ).toMatchObject({ kind: "record", entry: { $ref: "#/$defs/Price", $defs } });
  expect(widgetOf({ $ref: "#/$defs/Price", $defs })).toEqual({ kind: "json" });
  expect(widgetOf({})).toEqual({ kind: "json" });
});

test("the values that may be chosen are found however deep they stand", () => {
  const rules = { type: "object", additionalProperties: { enum: ["auto", "ask", "deny"] } };
  expect([...choicesIn(rules)]).toEqual(["auto", "ask", "deny"]);
  expect([...choicesIn({ anyOf: [{ enum: ["strict"] }, { type: "null" }] })]).toEqual(["strict"]);
  expect(choicesIn({ type: "string" }).size).toBe(0);
});
