import { expect, test } from "vitest";
import { told } from "./filterWords";

const filter = {
  id: "f1",
  action: "hide",
  audiences: [],
  path: "",
  section: "",
  field: "",
  pattern: "",
  text: "",
  note: "",
} as const;

test("a filter is told in one sentence", () => {
  expect(told({ ...filter, field: "salary" })).toBe(
    "Hides the field salary on every page from everybody but you",
  );
  expect(
    told({ ...filter, action: "mask", pattern: "phone", path: "entities/*", audiences: ["mcp-*"] }),
  ).toBe("Masks phone numbers in entities/* from programs connected by MCP");
  expect(told({ ...filter, pattern: "x+", section: "Health", audiences: ["rest:bot"] })).toBe(
    "Hides text that matches x+ in the section Health, on every page from rest:bot",
  );
  expect(told({ ...filter, text: "no salaries" })).toBe("Tells the model: no salaries");
});
