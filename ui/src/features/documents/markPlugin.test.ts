import { expect, test } from "vitest";
import { markPlugin, type Node } from "./markPlugin";

const at = (start: number, end: number) => ({ start: { offset: start }, end: { offset: end } });
const text = (value: string, start: number): Node => ({
  type: "text",
  value,
  position: at(start, start + value.length),
});
const said = (node: Node): string =>
  node.type === "marked"
    ? `[${(node.children ?? []).map(said).join("")}]`
    : (node.value ?? (node.children ?? []).map(said).join(""));

test("a part of a text is marked, over the borders of what it is made of", () => {
  // “The **deposit** is due”
  const strong = { type: "strong", children: [text("deposit", 6)], position: at(4, 15) };
  const tree: Node = {
    type: "root",
    children: [
      {
        type: "paragraph",
        children: [text("The ", 0), strong, text(" is due", 15)],
        position: at(0, 22),
      },
    ],
    position: at(0, 22),
  };
  markPlugin(6, 18)()(tree);
  expect(said(tree)).toBe("The [deposit][ is] due");
});

test("a text that is written otherwise than it reads is marked whole, and code as a block", () => {
  const escaped = { type: "text", value: "a*b", position: at(0, 4) };
  const code: Node = { type: "code", value: "x = 1", position: at(6, 19) };
  const tree: Node = { type: "root", children: [escaped, code], position: at(0, 19) };
  markPlugin(1, 12)()(tree);
  expect(said(tree)).toBe("[a*b]x = 1");
  expect(code.data?.hProperties).toEqual({ className: "marked" });
});
