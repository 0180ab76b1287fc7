import { insertNewlineContinueMarkup, markdownLanguage } from "@codemirror/lang-markdown";
import { EditorState, type StateCommand, Text } from "@codemirror/state";
import { expect, test } from "vitest";
import { changesTo } from "./changes";
import { itemMore, listed, marked } from "./commands";
import { linesWith, type Property, propertiesOf } from "./properties";
import { linesOf, textOf } from "./textLines";

/** Numbers that look like chance, the same in each run. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * sides);
  };
}

const PIECES = [
  "\n",
  "\r\n",
  "\r",
  "- a",
  "# b",
  "",
  " ",
  "[[c]]",
  "é",
  "🚂",
  "\t",
  "\uFEFF",
  "---",
];

function someText(roll: (sides: number) => number): string {
  return Array.from({ length: roll(12) }, () => PIECES[roll(PIECES.length)]).join("");
}

test("a text comes back from the editor byte for byte, whatever its line ends", () => {
  const roll = dice(7);
  for (let n = 0; n < 2000; n++) {
    const text = (roll(4) ? "" : "\uFEFF") + someText(roll);
    const { lines, ends } = linesOf(text);
    expect(textOf(Text.of(lines).toJSON(), ends)).toBe(text);
  }
});

test("a new line in a file of Windows ends as the others do", () => {
  const { lines, ends } = linesOf("\uFEFFone\r\ntwo\r\n");
  expect(lines).toEqual(["one", "two", ""]);
  expect(textOf([...lines.slice(0, 2), "three", ""], ends)).toBe("\uFEFFone\r\ntwo\r\nthree\r\n");
});

test("what another program wrote is taken in as changes that make exactly its text", () => {
  const roll = dice(11);
  const words = ["a", "b", "c", "", "d d"];
  const some = () => Array.from({ length: 1 + roll(9) }, () => words[roll(words.length)] ?? "");
  for (let n = 0; n < 1000; n++) {
    const [old, fresh] = [Text.of(some()), some()];
    const state = EditorState.create({ doc: old });
    expect(state.update({ changes: changesTo(old, fresh) }).state.doc.toJSON()).toEqual(fresh);
  }
});

test("an edit elsewhere leaves the caret in the words where it stood", () => {
  const doc = Text.of(["one", "two", "three", "four"]);
  const state = EditorState.create({ doc, selection: { anchor: doc.line(3).from + 2 } });
  const next = state.update({ changes: changesTo(doc, ["ONE", "two", "three", "four", "five"]) });
  const { head } = next.state.selection.main;
  expect(next.state.sliceDoc(head - 2, head + 3)).toBe("three");
});

/** What becomes of a text whose caret is at `|`, or whose selection is between two of them. */
function after(command: StateCommand, marked: string): string {
  const [before = "", ...rest] = marked.split("|");
  const anchor = before.length;
  const head = rest.length > 1 ? anchor + (rest[0]?.length ?? 0) : anchor;
  let state = EditorState.create({
    doc: [before, ...rest].join(""),
    selection: { anchor, head },
    extensions: markdownLanguage,
  });
  command({
    state,
    dispatch: (tr) => {
      state = tr.state;
    },
  });
  const { main } = state.selection;
  const text = state.doc.toString();
  return `${text.slice(0, main.head)}|${text.slice(main.head)}`;
}

test.each([
  ["- one|", "- one\n- |"],
  ["3. one|", "3. one\n4. |"],
  ["- [x] one|", "- [x] one\n- [ ] |"],
  ["> one|", "> one\n> |"],
  ["- one\n  - two|", "- one\n  - two\n  - |"],
])("Enter goes on with a list: %j", (text, wanted) => {
  expect(after(insertNewlineContinueMarkup, text)).toBe(wanted);
});

test("Tab moves an item of a list, and nothing else", () => {
  expect(after(itemMore, "- one\n- two|")).toBe("- one\n  - two|");
  expect(after(itemMore, "words|")).toBe("words|");
});

test("bold goes around the word at the caret, and off again", () => {
  expect(after(marked("**"), "a wo|rd b")).toBe("a **wo|rd** b");
  expect(after(marked("**"), "a **wo|rd** b")).toBe("a wo|rd b");
});

test("lines become a list, tasks and lines again", () => {
  expect(after(listed("- "), "|one\n  two|")).toBe("- one\n  - two|");
  expect(after(listed("- [ ] "), "- one|")).toBe("- [ ] one|");
  expect(after(listed("- [ ] "), "- [x] one|")).toBe("one|");
});

const FRONT = [
  "title: Lisbon",
  "tags: [trip, summer]",
  "aliases:",
  "  - LX",
  '  - "a: b"',
  "deep: {a: 1}",
  "when: 2026-05-01 # a remark",
  "empty:",
  'said: "yes: \\"no\\""',
];

test("properties are read as they are written, and what is not understood is left alone", () => {
  const values = propertiesOf(FRONT)?.map(({ name, value }) => [name, value]);
  expect(values).toEqual([
    ["title", "Lisbon"],
    ["tags", ["trip", "summer"]],
    ["aliases", ["LX", "a: b"]],
    ["deep", null],
    ["when", null],
    ["empty", ""],
    ["said", 'yes: "no"'],
  ]);
  expect(propertiesOf(["title: a", "title: b"])).toBeNull();
  expect(propertiesOf(["# a remark", "title: a"])).toBeNull();
  expect(propertiesOf(["[a"])).toBeNull();
});

test("a property that is written and read again is the same, and its neighbours keep their bytes", () => {
  const roll = dice(3);
  const texts = [
    "plain",
    "with: colon",
    '"q"',
    "back\\slash",
    "#tag",
    "- dash",
    "2026-01-01",
    "é, x",
    "[a]",
  ];
  const isSame = (found: Property | undefined, value: unknown) =>
    expect(found?.value).toEqual(value);
  for (let n = 0; n < 500; n++) {
    const all = propertiesOf(FRONT) ?? [];
    const at = roll(all.length);
    const one = all[at];
    if (!one || one.value === null) continue;
    const some = () => texts[roll(texts.length)] ?? "";
    const value = typeof one.value === "string" ? some() : [some(), some()];
    const lines = [...FRONT.slice(0, one.from), ...linesWith(one, value), ...FRONT.slice(one.to)];
    const again = propertiesOf(lines);
    // A list in one line cannot hold a comma within its parts: such a text stays readable as text.
    if (Array.isArray(value) && one.style === "inline" && value.some((text) => text.includes(",")))
      continue;
    isSame(again?.[at], value);
    expect(lines.slice(0, one.from)).toEqual(FRONT.slice(0, one.from));
    expect(lines.slice(lines.length - (FRONT.length - one.to))).toEqual(FRONT.slice(one.to));
  }
});
