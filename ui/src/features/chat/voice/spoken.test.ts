import { expect, test } from "vitest";
import { piecesOf, spokenText } from "./spoken";

test("an answer is read without its marks, and what cannot be read is named", () => {
  const markdown = [
    "## Plan for *Lisbon*",
    "",
    "- Take the **train** to [Lisbon](https://example.org/x)",
    "1. See `main.py` and snake_case_name",
    "",
    "```python",
    "print(1)",
    "```",
    "",
    "| a | b |",
    "|---|---|",
    "| 1 | 2 |",
    "",
    "![A map](map.png) at https://example.org",
    "$$x^2$$",
  ].join("\n");
  expect(spokenText(markdown)).toBe(
    [
      "Plan for Lisbon",
      "",
      "Take the train to Lisbon",
      "See main.py and snake_case_name",
      "",
      "Code.",
      "",
      "",
      "A table.",
      "",
      "A map at a link",
      "A formula.",
    ]
      .join("\n")
      .replace("\n\n\n", "\n\n"),
  );
  expect(spokenText("```\nnever closed")).toBe("Code.");
});

test("pieces end at sentences, and none is too long", () => {
  expect(piecesOf("One. Two! Three?", 9)).toEqual(["One. Two!", "Three?"]);
  expect(piecesOf("a".repeat(25), 10).map(({ length }) => length)).toEqual([10, 10, 5]);
  expect(piecesOf("word ".repeat(10), 12).every(({ length }) => length <= 12)).toBe(true);
  expect(piecesOf("  \n ", 10)).toEqual([]);
});
