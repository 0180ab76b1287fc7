import { expect, test } from "vitest";
import type { VaultGraph } from "../../api/types";
import { drawn } from "../../kit/graph/graphLayout";
import { netOf } from "./pageNet";

const graphOf = (links: [string, string][], lost: [string, string][]): VaultGraph => ({
  nodes: [...new Set(links.flat())].map((path) => ({
    path,
    title: path.replace(".md", ""),
    tags: [],
    links: 0,
    backlinks: 0,
  })),
  edges: links.map(([source, target]) => ({ source, target, count: 1 })),
  missing: lost.map(([source, target]) => ({ source, target, count: 1 })),
  orphans: [],
  way: null,
});

test("what is not made stands apart, once for all that name it, and only as near as it is", () => {
  const graph = graphOf(
    [["user.md", "a.md"]],
    [
      ["user.md", "Nobody"],
      ["a.md", "nobody.md"],
      ["a.md", "far"],
    ],
  );
  const lost = (depth: number) =>
    drawn(netOf(graph), "user.md", depth)
      .spots.filter(({ isMissing }) => isMissing)
      .map(({ name, from }) => `${name}: ${from.join(" ")}`);
  expect(lost(1)).toEqual(["Nobody: user.md a.md"]);
  expect(lost(2)).toEqual(["Nobody: user.md a.md", "far: a.md"]);
});
