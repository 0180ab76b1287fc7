// Each block of a text has the direction of its own first letters: Hebrew in an English page reads from the right.
type Node = { type: string; tagName?: string; properties?: Record<string, unknown> };

/** Marks the blocks of Markdown; code keeps the direction that code has. */
export const directions = () => (tree: { children: Node[] }) => {
  for (const node of tree.children)
    if (node.type === "element" && node.tagName !== "pre")
      node.properties = { ...node.properties, dir: "auto" };
};
