import { expect, test } from "vitest";
import { within } from "./thumbnail";

test("a picture keeps its shape, and is never made larger", () => {
  const box = { width: 200, height: 100 };
  expect(within({ width: 4000, height: 1000 }, box)).toEqual({ width: 200, height: 50 });
  expect(within({ width: 100, height: 4000 }, box)).toEqual({ width: 3, height: 100 });
  expect(within({ width: 20, height: 10 }, box)).toEqual({ width: 20, height: 10 });
  expect(within({ width: 1, height: 90_000 }, box)).toEqual({ width: 1, height: 100 });
});
