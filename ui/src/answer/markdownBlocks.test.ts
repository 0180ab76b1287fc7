import { describe, expect, test } from "vitest";
import { markdownBlocks } from "./markdownBlocks";

describe("markdownBlocks", () => {
  test("cut between paragraphs and lose nothing", () => {
    const text = "One.\n\nTwo.\n\n\n# Three\n\nFour";
    expect(markdownBlocks(text).map((block) => block.trim())).toEqual([
      "One.",
      "Two.",
      "# Three",
      "Four",
    ]);
    expect(markdownBlocks(text).join("\n")).toBe(text);
  });

  test("leave lists, quotes and fences whole", () => {
    for (const whole of [
      "- a\n\n- b\n\n  more of b",
      "1. a\n\n2. b",
      "> a\n\n> b",
      "```py\na = 1\n\nb = 2\n```",
      "~~~\n```\n\nstill code\n~~~",
      "```\nnot closed yet\n\nmore",
    ]) {
      expect(markdownBlocks(whole)).toEqual([whole]);
    }
  });

  test("are not made where definitions reach over the text", () => {
    const text = "See [it][1].\n\nMore.\n\n[1]: https://example.org";
    expect(markdownBlocks(text)).toEqual([text]);
  });

  test("that are whole stay the same while the text grows", () => {
    const text = "One.\n\n```js\nx\n\ny\n```\n\n- a\n- b\n\nEnd of it.";
    let before: string[] = [];
    for (let length = 1; length <= text.length; length += 1) {
      const now = markdownBlocks(text.slice(0, length));
      expect(now.slice(0, before.length - 1)).toEqual(before.slice(0, -1));
      before = now;
    }
  });
});
