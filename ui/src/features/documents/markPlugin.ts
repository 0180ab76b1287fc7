// Marks a part of a Markdown text, given as the indices of its source, in what it is shown as.

type Point = { offset?: number | undefined };
export type Node = {
  type: string;
  value?: string;
  children?: Node[];
  position?: { start: Point; end: Point } | undefined;
  data?: { hName?: string; hProperties?: Record<string, unknown> };
};

const mark = (children: Node[]): Node => ({
  type: "marked",
  data: { hName: "mark" },
  children,
});

/** Where in a node's value its source's characters `begin` to `end` are; all of it if the two differ. */
function within(value: string, start: number, length: number, begin: number, end: number) {
  if (value.length !== length) return [0, value.length] as const;
  return [Math.max(0, begin - start), Math.min(value.length, end - start)] as const;
}

function markedText(node: Node, begin: number, end: number): Node[] {
  const { value = "", position } = node;
  const start = position?.start.offset ?? 0;
  const stop = position?.end.offset ?? start;
  const [from, to] = within(value, start, stop - start, begin, end);
  const text = (part: string): Node[] => (part ? [{ type: "text", value: part }] : []);
  const inside = text(value.slice(from, to));
  return [
    ...text(value.slice(0, from)),
    ...(inside.length ? [mark(inside)] : []),
    ...text(value.slice(to)),
  ];
}

function walk(node: Node, begin: number, end: number): void {
  if (!node.children) return;
  node.children = node.children.flatMap((child) => {
    const { start, end: stop } = child.position ?? { start: {}, end: {} };
    const isTouched = (start.offset ?? 0) < end && (stop.offset ?? 0) > begin;
    if (!child.position || !isTouched) return [child];
    if (child.type === "text") return markedText(child, begin, end);
    if (child.type === "inlineCode") return [mark([child])];
    if (child.type === "code") {
      child.data = { ...child.data, hProperties: { className: "marked" } };
      return [child];
    }
    walk(child, begin, end);
    return [child];
  });
}

/** A plugin of remark that marks characters `begin` to `end` of the source. */
export const markPlugin = (begin: number, end: number) => () => (tree: Node) =>
  walk(tree, begin, end);
