import { expect, test } from "vitest";
import { asCsv, asMarkdown, rowsOf } from "./tables";

const rows = [
  ["name", "note"],
  ["Smith, Ann", 'says "hi"\ntwice'],
  ["-5", "a|b"],
];

test("a table goes to CSV and comes back", () => {
  expect(rowsOf(asCsv(rows))).toEqual(rows);
  expect(asCsv([["=1+1", "-5", "-cmd"]])).toBe("'=1+1,-5,'-cmd\r\n");
});

test("a table goes to Markdown", () => {
  expect(asMarkdown(rows)).toBe(
    '| name | note |\n| --- | --- |\n| Smith, Ann | says "hi" twice |\n| -5 | a\\|b |\n',
  );
});

test.each([
  [
    "a;b\n1;2\n",
    [
      ["a", "b"],
      ["1", "2"],
    ],
  ],
  [
    "a\tb\r\n1\t",
    [
      ["a", "b"],
      ["1", ""],
    ],
  ],
  ['a,"never closed\nx', [["a", "never closed\nx"]]],
  ['"x"y,z', [["x", "z"]]],
  ["", []],
  ["one", [["one"]]],
])("CSV is read as it is written: %j", (text, found) => {
  expect(rowsOf(text)).toEqual(found);
});
