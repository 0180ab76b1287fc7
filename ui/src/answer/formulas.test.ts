import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import ReactMarkdown from "react-markdown";
import remarkGfm from "remark-gfm";
import { describe, expect, test } from "vitest";
import { remarkFormulas } from "./formulas";

type Options = { brackets?: boolean };

const drawn = (text: string, options: Options = { brackets: true }) =>
  renderToStaticMarkup(
    createElement(ReactMarkdown, { remarkPlugins: [remarkGfm, [remarkFormulas, options]] }, text),
  );

/** The formulas of a text as it is drawn, those by themselves with a `!`. */
const formulas = (text: string, options?: Options) =>
  Array.from(
    drawn(text, options).matchAll(/<code class="[^"]*math-(inline|display)[^"]*">([^<]*)</g),
    ([, kind, tex]) => (kind === "display" ? `!${tex}` : tex),
  );

describe("a formula", () => {
  test.each([
    ["Let $x$ be.", ["x"]],
    ["$\\alpha$ and $a\\,b$, $\\$5$", ["\\alpha", "a\\,b", "\\$5"]],
    ["So \\(a_1 * b * c_2\\) holds", ["a_1 * b * c_2"]],
    ["So \\[a \\\\ b\\] holds", ["!a \\\\ b"]],
    ["It is $$\\frac{a}{b}$$ here", ["!\\frac{a}{b}"]],
    ["$$\na\n\n+ b\n$$", ["!a\n\n+ b"]],
    ["- in a list\n  $$\n  x\n  $$\n- $y$", ["!x", "y"]],
    ["over a\nline: $a\nb$", ["a\nb"]],
    ["the $n$th", ["n"]],
    ["| $a$ | $b$ |\n| - | - |\n| $c$ | d |", ["a", "b", "c"]],
  ])("is found in %j", (text, found) => {
    expect(formulas(text)).toEqual(found);
  });

  test.each([
    "It costs $5 and $10.",
    "US$5/US$10, a $10-$20 note, and 5 $",
    "$HOME and $PATH",
    "`$x$` and `\\(x\\)`",
    "```\n$x$\n```",
    "\\$x\\$ and \\\\(x\\\\)",
    "$$$ expensive $$$",
    "open $x, and \\( never closed",
  ])("is not seen in %j", (text) => {
    expect(formulas(text)).toEqual([]);
  });

  test("of brackets is seen only where it is wanted: elsewhere these are escaped brackets", () => {
    expect(formulas("\\[1\\] and \\(x\\) but $y$", {})).toEqual(["y"]);
    expect(drawn("\\[1\\]", {})).toBe("<p>[1]</p>");
  });

  test("is looked for once where a text is full of what never closes", () => {
    // Looked for from each beginning, this takes minutes.
    expect(formulas("$a \\(b \\[c ".repeat(4_000))).toEqual([]);
  });
});

test("every backslash of a formula is kept", () => {
  const tex = "\\left\\{ a\\,\\;b \\% \\_ \\& \\# \\| c \\right\\}";
  expect(formulas(`$${tex}$`)).toEqual([tex.replaceAll("&", "&amp;")]);
  expect(formulas(`\\(${tex}\\)`)).toEqual([tex.replaceAll("&", "&amp;")]);
});
