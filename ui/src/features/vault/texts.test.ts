import { expect, test } from "vitest";
import { outlineOf, toggled, withFront } from "./texts";

test("a page's headings are those outside of its code", () => {
  const text = "# One\n```\n# no\n```\n## Two ##\n#none\n";
  expect(outlineOf(text)).toEqual([
    { level: 1, text: "One", line: 1 },
    { level: 2, text: "Two", line: 5 },
  ]);
});

test("a task is done and open again, and not a byte else changes", () => {
  const text = "a\r\n- [ ] one\r\n1. [X] two\r\n- no task\r\n";
  expect(toggled(text, 3)).toBe("a\r\n- [x] one\r\n1. [X] two\r\n- no task\r\n");
  expect(toggled(text, text.indexOf("1."))).toBe("a\r\n- [ ] one\r\n1. [ ] two\r\n- no task\r\n");
  expect(toggled(text, text.indexOf("- no"))).toBeNull();
});

test("properties are added above a text that has none, with its own line ends", () => {
  expect(withFront("# A\n")).toBe("---\ntags: []\n---\n# A\n");
  expect(withFront("\uFEFF# A\r\n")).toBe("\uFEFF---\r\ntags: []\r\n---\r\n# A\r\n");
  expect(withFront("---\na: b\n---\n")).toBeNull();
});
