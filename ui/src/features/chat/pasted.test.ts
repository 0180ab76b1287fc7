import { expect, test } from "vitest";
import { isLong, linesOf, nameOf } from "./pasted";

test("only a long text may become a file", () => {
  expect(isLong("a short one\n".repeat(20))).toBe(false);
  expect(isLong("line\n".repeat(5000))).toBe(true);
  expect(isLong("x".repeat(20_000))).toBe(true);
  expect(linesOf("a\nb")).toBe(2);
});

test("a file is named by what it looks like", () => {
  expect(nameOf('{"a": 1}')).toBe("pasted.json");
  expect(nameOf("name,age,city\nAda,36,London")).toBe("pasted.csv");
  expect(nameOf("# Title\n\ntext")).toBe("pasted.md");
  expect(nameOf("Jan 1 host kernel: [1] up")).toBe("pasted.txt");
  expect(nameOf("<!doctype html>")).toBe("pasted.html");
});
