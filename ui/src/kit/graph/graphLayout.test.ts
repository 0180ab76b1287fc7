import { expect, test } from "vitest";
import { drawn, MOST, type Net, towards } from "./graphLayout";

const graphOf = (links: [string, string][]): Net => ({
  nodes: [...new Set(links.flat())].map((id) => ({ id, name: id.replace(".md", ""), address: id })),
  links,
});

const star = (n: number) =>
  graphOf(Array.from({ length: n }, (_, i): [string, string] => ["user.md", `page ${i}.md`]));

test("pages stand on rings by how many links away they are, whichever way the links lead", () => {
  const graph = graphOf([
    ["user.md", "a.md"],
    ["b.md", "user.md"],
    ["a.md", "c.md"],
    ["c.md", "d.md"],
  ]);
  const far = (depth: number) =>
    drawn(graph, "user.md", depth).spots.map(({ name, distance }) => `${name} ${distance}`);
  expect(far(1)).toEqual(["user 0", "a 1", "b 1"]);
  expect(far(3)).toEqual(["user 0", "a 1", "b 1", "c 2", "d 3"]);
  const [centre] = drawn(graph, "user.md", 1).spots;
  expect([centre?.x, centre?.y]).toEqual([0, 0]);
});

test("the same pages have the same places, in whatever order they are told", () => {
  const links: [string, string][] = [
    ["user.md", "a.md"],
    ["user.md", "b.md"],
    ["b.md", "c.md"],
  ];
  const places = (all: [string, string][]) =>
    Object.fromEntries(drawn(graphOf(all), "user.md", 2).spots.map(({ id, x, y }) => [id, [x, y]]));
  expect(places(links.toReversed())).toEqual(places(links));
});

test("no two names stand in one place, however many there are", () => {
  const { spots, half } = drawn(star(MOST), "user.md", 1);
  const [, ...ring] = spots;
  const near = ring.flatMap((one, i) =>
    ring.slice(i + 1).map((other) => Math.hypot(one.x - other.x, one.y - other.y)),
  );
  expect(Math.min(...near)).toBeGreaterThan(16);
  expect(Math.max(...spots.map(({ x }) => Math.abs(x)))).toBeLessThan(half.x);
});

test("more than can be drawn are counted, and the nearest are drawn", () => {
  const graph = star(MOST + 50);
  const { spots, lines, total } = drawn(graph, "user.md", 2);
  expect([spots.length, lines.length, total]).toEqual([MOST, MOST - 1, MOST + 51]);
});

test("arrows lead to what lies in their direction", () => {
  const { spots } = drawn(star(4), "user.md", 1);
  const [centre, ...ring] = spots;
  if (!centre) throw new Error("nothing is drawn");
  const right = towards(spots, centre, 1, 0);
  expect(ring.filter(({ x }) => x > 0)).toContain(right);
  expect(right && towards(spots, right, -1, 0)?.x).toBeLessThan(right?.x ?? 0);
  expect(towards([centre], centre, 1, 0)).toBeNull();
});

test("a page that the graph does not know draws nothing", () => {
  expect(drawn(star(1), "gone.md", 1).spots).toEqual([]);
});
