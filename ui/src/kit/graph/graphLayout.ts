// What a graph shows of its nodes, how far each is from the one in the middle, and where each stands. Pure.
import {
  forceCollide,
  forceLink,
  forceManyBody,
  forceSimulation,
  forceX,
  forceY,
  type SimulationLinkDatum,
  type SimulationNodeDatum,
} from "d3-force";

/** More nodes than these tell nobody anything; the nearest ones are shown. */
export const MOST = 5000;
/** Names of so few have room beside one another. */
const FEW = 60;
/** The forces settle in so many steps: `STEPS` of a small graph, fewer of a large one. */
const STEPS = 300;
const LEAST_STEPS = 90;
const STEPS_BY_NODES = 120_000;
/** How strongly nodes push each other away; names of few nodes need more room. */
const PUSH = -110;
const PUSH_OF_FEW = -700;
const LINK_PX = 50;
const LINK_OF_FEW_PX = 90;
const FARTHEST_PX = 600;
/** Keeps parts together that no link holds together. */
const GRAVITY = 0.06;
const LEAST_RADIUS = 4;
const MOST_RADIUS = 13;
const GAP_PX = 6;

export type Shape = "circle" | "square" | "sheet" | "diamond" | "triangle";

/** What is drawn: where it leads, and how it looks. */
export type NetNode = {
  id: string;
  name: string;
  address: string;
  /** A link names it, and it is not made. */
  isMissing?: boolean;
  shape?: Shape;
  /** One of the colours that tell groups apart, from 0. */
  tone?: number | undefined;
  /** How much it matters beside its links, 0 to 1. */
  weight?: number;
};

export type Net = {
  nodes: readonly NetNode[];
  /** From one to another, by their ids. */
  links: readonly (readonly [from: string, to: string])[];
};

export type Spot = NetNode & {
  /** Links away from the node in the middle; null where none is there. */
  distance: number | null;
  radius: number;
  to: readonly string[];
  from: readonly string[];
};

export type Line = { source: number; target: number; isMissing: boolean };
export type Drawing = {
  /** Those that matter most first: the middle, then by links. */
  spots: readonly Spot[];
  /** By the places of their ends among the spots. */
  lines: readonly Line[];
  /** How many there are, also those that are not drawn. */
  total: number;
};

/** The places of the spots: x and y of each in turn, around 0. */
export type Places = Float64Array;

function linksOf({ nodes, links }: Net) {
  const to = new Map<string, string[]>(nodes.map(({ id }) => [id, []]));
  const from = new Map<string, string[]>(nodes.map(({ id }) => [id, []]));
  for (const [source, target] of links) {
    if (!to.has(source) || !from.has(target)) continue;
    to.get(source)?.push(target);
    from.get(target)?.push(source);
  }
  return { to, from };
}

/** The nodes within a distance and how far each is, the nearest first. */
function reached(centre: string, depth: number, beside: (id: string) => string[]) {
  const far = new Map([[centre, 0]]);
  for (const [id, distance] of far) {
    if (distance === depth) break;
    for (const other of beside(id)) if (!far.has(other)) far.set(other, distance + 1);
  }
  return far;
}

const order = new Intl.Collator("en", { numeric: true });

/** The nodes at most `depth` links from `centre`, whichever way the links lead; without a centre all of them. */
export function drawn(
  net: Net,
  centre: string | null = null,
  depth = Number.POSITIVE_INFINITY,
): Drawing {
  const { to, from } = linksOf(net);
  const beside = (id: string) => [...(to.get(id) ?? []), ...(from.get(id) ?? [])];
  const isKnown = centre === null || to.has(centre);
  const far = centre !== null && isKnown ? reached(centre, depth, beside) : null;
  const within = isKnown ? net.nodes.filter(({ id }) => !far || far.has(id)) : [];
  const all = within.map((node): Spot => {
    const links = { to: to.get(node.id) ?? [], from: from.get(node.id) ?? [] };
    const size = 1.6 * Math.sqrt(links.to.length + links.from.length) + 4 * (node.weight ?? 0);
    const radius = Math.min(MOST_RADIUS, LEAST_RADIUS + size);
    return { ...node, ...links, radius, distance: far?.get(node.id) ?? null };
  });
  all.sort(
    (a, b) =>
      Number(b.distance === 0) - Number(a.distance === 0) ||
      b.radius - a.radius ||
      order.compare(a.name, b.name) ||
      (a.id < b.id ? -1 : 1),
  );
  const nearest =
    all.length > MOST && far ? all.toSorted((a, b) => (a.distance ?? 0) - (b.distance ?? 0)) : all;
  const spots = all.length > MOST ? nearest.slice(0, MOST) : all;
  const at = new Map(spots.map(({ id }, place) => [id, place]));
  const lines = net.links.flatMap(([one, other]): Line[] => {
    const [source, target] = [at.get(one), at.get(other)];
    if (source === undefined || target === undefined || source === target) return [];
    const isMissing = Boolean(spots[source]?.isMissing || spots[target]?.isMissing);
    return [{ source, target, isMissing }];
  });
  return { spots, lines, total: all.length };
}

type Body = SimulationNodeDatum & { radius: number };

/** Where the spots stand. The same drawing always has the same places: nothing of it is random. */
export function placed({ spots, lines }: Pick<Drawing, "spots" | "lines">): Places {
  const isFew = spots.length <= FEW;
  const bodies = spots.map(
    ({ radius, distance }): Body => (distance === 0 ? { radius, fx: 0, fy: 0 } : { radius }),
  );
  const links = lines.map(({ source, target }): SimulationLinkDatum<Body> => ({ source, target }));
  const steps = Math.max(
    LEAST_STEPS,
    Math.min(STEPS, Math.round(STEPS_BY_NODES / (1 + spots.length))),
  );
  forceSimulation(bodies)
    .stop()
    .alphaDecay(1 - 0.001 ** (1 / steps))
    .force("link", forceLink(links).distance(isFew ? LINK_OF_FEW_PX : LINK_PX))
    .force(
      "push",
      forceManyBody<Body>()
        .strength(isFew ? PUSH_OF_FEW : PUSH)
        .distanceMax(FARTHEST_PX),
    )
    .force(
      "room",
      forceCollide<Body>(({ radius }) => radius + GAP_PX),
    )
    .force("x", forceX<Body>(0).strength(GRAVITY))
    .force("y", forceY<Body>(0).strength(GRAVITY))
    .tick(steps);
  const places = new Float64Array(2 * spots.length);
  bodies.forEach(({ x = 0, y = 0 }, place) => {
    places[2 * place] = x;
    places[2 * place + 1] = y;
  });
  return places;
}

/** The place among the spots of what lies nearest in a direction; -1 where there is none. */
export function towards(places: Places, from: number, dx: number, dy: number): number {
  const [x = 0, y = 0] = places.subarray(2 * from, 2 * from + 2);
  let best = -1;
  let least = Number.POSITIVE_INFINITY;
  for (let one = 0; 2 * one < places.length; one += 1) {
    const [right, down] = [(places[2 * one] ?? 0) - x, (places[2 * one + 1] ?? 0) - y];
    const along = right * dx + down * dy;
    const aside = Math.abs(right * dy - down * dx);
    // What lies more aside than ahead is in another direction.
    if (along < 1 || aside > along) continue;
    const cost = along + 2 * aside;
    if (cost < least) {
      least = cost;
      best = one;
    }
  }
  return best;
}
