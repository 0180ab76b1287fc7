import { expect, test } from "vitest";
import { plainText } from "./plainText";

test.each([
  ["Since you **prefer trains**, look in *Alfama*", "Since you prefer trains, look in Alfama"],
  [
    "My sister; comes to [[lisbon]] with [[people/ana|Ana]].",
    "My sister; comes to lisbon with Ana.",
  ],
  ["- [x] Ask Ana\n- [ ] Book the train", "• Ask Ana • Book the train"],
  ["| Quarter | Quiet |\n|---|---|\n| Graça | 18 min |", "Quarter · Quiet · Graça · 18 min"],
  ["| Quarter | Quiet | |---|---| | Graça | 18 min |", "Quarter · Quiet · Graça · 18 min"],
  ["# To do\n\nSee [the table](https://example.org)", "To do See the table"],
  ["Uses `snake_case` and 2 * 3 * 4", "Uses snake_case and 2 * 3 * 4"],
  ["Do not use metric abbreviations", "Do not use metric abbreviations"],
])("%j is read as %j", (markdown, words) => {
  expect(plainText(markdown)).toBe(words);
});
