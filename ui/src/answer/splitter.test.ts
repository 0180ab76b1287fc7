import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import ReactMarkdown from "react-markdown";
import remarkGfm from "remark-gfm";
import { describe, expect, test } from "vitest";
import { type Block, blocksIn, Splitter, withoutOpenEnd } from "./splitter";

const texts = (text: string) => blocksIn(text).map((block) => block.text.trim());

describe("text is cut", () => {
  test("between paragraphs, and nothing is lost", () => {
    expect(texts("One.\n\nTwo.\n\n\n# Three\n\nFour")).toEqual(["One.", "Two.", "# Three", "Four"]);
  });

  test.each([
    "- a\n\n- b\n\n  more of b",
    "1. a\n\n2. b",
    "> a\n\n> b",
    "1. Do\n   ```py\n   a = 1\n\n   b = 2\n   ```\n2. Done",
    "See [it][1].\n\nMore.\n\n[1]: https://example.org",
    "<!-- a\n\n```\nb\n-->",
  ])("nowhere in %j", (whole) => {
    expect(blocksIn(whole)).toEqual([{ kind: "text", text: whole }]);
  });

  test("around code at the margin, which keeps what looks like Markdown in it", () => {
    expect(blocksIn('Run:\n```py title="x"\na = 1\n\n[x]: y\n```\nand then')).toEqual([
      { kind: "text", text: "Run:" },
      { kind: "code", language: "py", text: "a = 1\n\n[x]: y", isOpen: false },
      { kind: "text", text: "and then" },
    ]);
    expect(blocksIn("~~~~\n```\n~~~\n")).toEqual([
      { kind: "code", language: "", text: "```\n~~~\n", isOpen: true },
    ]);
    expect(blocksIn("``` not ` code\n\nx").map(({ kind }) => kind)).toEqual(["text", "text"]);
  });

  test("around formulas, across empty lines", () => {
    expect(blocksIn("So\n\\[\na\n\n+ b\n\\]\n$$\nc\n")).toEqual([
      { kind: "text", text: "So" },
      { kind: "formula", text: "a\n\n+ b", isOpen: false },
      { kind: "formula", text: "c\n", isOpen: true },
    ]);
  });
});

test("a growing text shows a link's words, not half of its address", () => {
  const whole = "See [the page](https://example.org/a) and";
  const shown = [...whole].map((_, end) => withoutOpenEnd(whole.slice(0, end)));
  expect(shown.filter((text) => text.includes("http") && !text.includes("a)"))).toEqual([]);
  expect(shown.at(-6)).toBe("See the page");
  expect(withoutOpenEnd("![a cat](/files/1")).toBe("a cat");
  expect(withoutOpenEnd("It is a[0](b) or a (c")).toBe("It is a[0](b) or a (c");
});

test("a growing table is shown row by row, and never as its marks", () => {
  const whole = "So:\n\n| a | b |\n|---|:--|\n| 1 | 2 |\n| 3 | 4 |\n\nThen";
  const shown = [...whole].map((_, end) => withoutOpenEnd(whole.slice(0, end)).trim());
  expect([...new Set(shown)].slice(3)).toEqual([
    "So:",
    "So:\n\n| a | b |\n|---|:--|",
    "So:\n\n| a | b |\n|---|:--|\n| 1 | 2 |",
    "So:\n\n| a | b |\n|---|:--|\n| 1 | 2 |\n| 3 | 4 |",
    ...["T", "Th", "The"].map((end) => whole.replace("Then", end)),
  ]);
});

/** Numbers that look random and are the same each time. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const LINES = [
  "",
  "",
  "Words with *stress* and `code`.",
  "# Heading",
  "- item",
  "   - below",
  "   more of it",
  "1. first",
  "   ```js",
  "   ```",
  "```python",
  "```",
  "~~~",
  "````",
  "    indented",
  "> quoted",
  "> ```",
  "| a | b |",
  "| - | - |",
  "---",
  "===",
  "$5 and $10",
  "``` x ` y",
  "x = 1",
];

function document(seed: number): string {
  const below = numbers(seed);
  return Array.from({ length: 1 + below(30) }, () => LINES[below(LINES.length)]).join("\n");
}

const drawn = (text: string) =>
  renderToStaticMarkup(createElement(ReactMarkdown, { remarkPlugins: [remarkGfm] }, text));

/** A block as Markdown again. */
function source(block: Block): string {
  if (block.kind === "text") return block.text;
  if (block.kind === "formula") return `$$\n${block.text}\n$$`;
  return `\`\`\`\`\`${block.language}\n${block.text}\n\`\`\`\`\``;
}

/** Each is drawn twice, on a machine that may have other things to do. */
const SLOWLY_MS = 30_000;

describe("for 200 documents", () => {
  const seeds = Array.from({ length: 200 }, (_, seed) => seed);

  test(
    "blocks read as the whole does",
    () => {
      const plain = (html: string) => html.replace(/\s+/g, " ").replace(/> </g, "><").trim();
      for (const seed of seeds) {
        const text = document(seed);
        const apart = blocksIn(text).map(source).map(drawn).join("\n");
        expect(plain(apart), JSON.stringify(text)).toBe(plain(drawn(text)));
      }
    },
    SLOWLY_MS,
  );

  test("however they come, the blocks are the same, and what is closed stays", () => {
    for (const seed of seeds) {
      const text = document(seed);
      const below = numbers(seed + 7);
      const splitter = new Splitter();
      let before: Block[] = [];
      for (let at = 0; at < text.length; ) {
        const size = 1 + below(12);
        splitter.push(text.slice(at, at + size));
        at += size;
        const now = splitter.blocks();
        expect(now).toEqual(blocksIn(text.slice(0, at)));
        const closed = Math.max(0, before.length - 2);
        expect(now.slice(0, closed)).toEqual(before.slice(0, closed));
        before = now;
      }
    }
  });
});
