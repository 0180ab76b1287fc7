import { expect, test } from "vitest";
import { type Drawing, drawn, MOST, type Net, placed, towards } from "./graphLayout";
import { namesIn } from "./paint";
import { fitted, showing, zoomed } from "./view";

const graphOf = (links: [string, string][]): Net => ({
  nodes: [...new Set(links.flat())].map((id) => ({ id, name: id.replace(".md", ""), address: id })),
  links,
});

const star = (n: number) =>
  graphOf(Array.from({ length: n }, (_, i): [string, string] => ["user.md", `page ${i}.md`]));

const at = (places: Float64Array, place: number) => [places[2 * place], places[2 * place + 1]];

test("nodes are as far as there are links between, whichever way the links lead", () => {
  const graph = graphOf([
    ["user.md", "a.md"],
    ["b.md", "user.md"],
    ["a.md", "c.md"],
    ["c.md", "d.md"],
  ]);
  const far = (depth: number) =>
    Object.fromEntries(drawn(graph, "user.md", depth).spots.map((one) => [one.name, one.distance]));
  expect(far(1)).toEqual({ user: 0, a: 1, b: 1 });
  expect(far(3)).toEqual({ user: 0, a: 1, b: 1, c: 2, d: 3 });
  expect(drawn(graph, "gone.md", 1).spots).toEqual([]);
});

test("the middle stays in the middle, and the same nodes have the same places in whatever order they are told", () => {
  const links: [string, string][] = [
    ["user.md", "a.md"],
    ["user.md", "b.md"],
    ["b.md", "c.md"],
  ];
  const placesOf = (all: [string, string][]) => {
    const drawing = drawn(graphOf(all), "user.md", 2);
    const places = placed(drawing);
    return Object.fromEntries(drawing.spots.map(({ id }, place) => [id, at(places, place)]));
  };
  expect(placesOf(links)["user.md"]).toEqual([0, 0]);
  expect(Object.keys(placesOf(links.toReversed()))).toEqual(Object.keys(placesOf(links)));
  expect(placesOf(links)).toEqual(placesOf(links));
});

test("nodes do not lie on one another, and all of them can be in view at once", () => {
  const drawing = drawn(star(300), "user.md", 1);
  const places = placed(drawing);
  const size = { width: 360, height: 400 };
  const view = fitted(places, size, true);
  let least = Number.POSITIVE_INFINITY;
  drawing.spots.forEach((_, one) => {
    const [x = 0, y = 0] = at(places, one);
    expect(view.x + view.scale * x).toBeGreaterThan(0);
    expect(view.x + view.scale * x).toBeLessThan(size.width);
    expect(view.y + view.scale * y).toBeLessThan(size.height);
    for (let other = 0; other < one; other += 1) {
      const [right = 0, down = 0] = at(places, other);
      least = Math.min(least, Math.hypot(x - right, y - down));
    }
  });
  expect(least).toBeGreaterThan(6);
});

test("more than can be drawn are counted, and those that matter most are drawn", () => {
  const { spots, total } = drawn(star(MOST + 50));
  expect([spots.length, total]).toEqual([MOST, MOST + 51]);
  expect(spots[0]?.name).toBe("user");
});

test("arrows lead to what lies in their direction", () => {
  const drawing = drawn(star(4), "user.md", 1);
  const places = placed(drawing);
  const right = towards(places, 0, 1, 0);
  const [x = 0] = at(places, right);
  expect(x).toBeGreaterThan(0);
  expect(at(places, towards(places, right, -1, 0))[0]).toBeLessThan(x);
  expect(towards(new Float64Array([0, 0]), 0, 1, 0)).toBe(-1);
});

test("a name is never cut at an edge, and no name stands over another", () => {
  const drawing: Drawing = drawn(
    graphOf([["a long name at the left", "a long name at the right"]]),
  );
  const places = new Float64Array([-100, 0, 100, 0]);
  const size = { width: 240, height: 100 };
  const widthOf = (name: string) => 7 * name.length;
  const namesAt = (scale: number) =>
    namesIn(
      { drawing, places, view: { x: 120, y: 50, scale }, size, active: -1 },
      new Set(),
      widthOf,
    );
  for (const scale of [0.01, 1]) {
    for (const { name, x } of namesAt(scale)) {
      expect(x - widthOf(name) / 2).toBeGreaterThanOrEqual(0);
      expect(x + widthOf(name) / 2).toBeLessThanOrEqual(size.width);
    }
    expect(namesAt(scale)).toHaveLength(1);
  }
});

test("zooming keeps what is under the pointer, and a node that is reached comes into view", () => {
  const view = { x: 10, y: 20, scale: 1 };
  const larger = zoomed(view, 2, { x: 50, y: 60 });
  expect([larger.x + 2 * 40, larger.y + 2 * 40]).toEqual([50, 60]);
  const size = { width: 400, height: 300 };
  const shown = showing(view, { x: 1000, y: -500 }, size);
  expect(shown.x + 1000).toBeLessThan(size.width);
  expect(shown.y - 500).toBeGreaterThan(0);
  expect(showing(view, { x: 100, y: 100 }, size)).toEqual(view);
});
