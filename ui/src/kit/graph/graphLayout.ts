// Where the nodes near one node are drawn: on rings by their distance, each beside the one that it was reached from.
// The same nodes always get the same places, without any settling. Pure.

/** So many are drawn; a thousand names at once tell nobody anything. */
export const MOST = 300;
const GAP_PX = 190;
const SPACING_PX = 18;
/** Up to so many, names stand upright beside their dots; more of them point outwards. */
const FEW = 13;
/** Places left free between the last and the first of a crowded ring. */
const GAP_SLOTS = 4;
const MARGIN_PX = 190;
const MARGIN_FLAT_PX = 48;

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
};

export type Net = {
  nodes: readonly NetNode[];
  /** From one to another, by their ids. */
  links: readonly (readonly [from: string, to: string])[];
};

export type Spot = NetNode & {
  /** Links away from the node in the middle. */
  distance: number;
  x: number;
  y: number;
  /** Where the name points to, in radians. */
  angle: number;
  to: readonly string[];
  from: readonly string[];
};

export type Line = { id: string; source: Spot; target: Spot; isTree: boolean };
export type Drawing = {
  spots: readonly Spot[];
  lines: readonly Line[];
  /** How many there are, also those that are not drawn. */
  total: number;
  /** Half the width and half the height, from the node in the middle. */
  half: { x: number; y: number };
  isUpright: boolean;
};

const order = new Intl.Collator("en", { numeric: true });

function linksOf({ nodes, links }: Net) {
  const known = new Map(nodes.map((node) => [node.id, node]));
  const to = new Map<string, string[]>(nodes.map(({ id }) => [id, []]));
  const from = new Map<string, string[]>(nodes.map(({ id }) => [id, []]));
  for (const [source, target] of links) {
    to.get(source)?.push(target);
    from.get(target)?.push(source);
  }
  return { known, to, from };
}

type Reached = { id: string; distance: number; children: Reached[] };

/** The nodes within a distance, the nearest first, each below the one that it was reached from first. */
function reached(centre: string, depth: number, beside: (id: string) => string[]): Reached[] {
  const root: Reached = { id: centre, distance: 0, children: [] };
  const seen = new Set([centre]);
  const found = [root];
  for (const here of found) {
    if (here.distance === depth) break;
    for (const id of beside(here.id)) {
      if (seen.has(id)) continue;
      seen.add(id);
      const next: Reached = { id, distance: here.distance + 1, children: [] };
      if (found.length < MOST) here.children.push(next);
      found.push(next);
    }
  }
  return found;
}

const leaves = (one: Reached): number =>
  one.children.length ? one.children.reduce((sum, child) => sum + leaves(child), 0) : 1;

/** The angle of each: a node has the share of its parent's that its own leaves are. */
function anglesOf(root: Reached): Map<string, number> {
  const angles = new Map<string, number>();
  const share = (one: Reached, start: number, width: number) => {
    angles.set(one.id, start + width / 2);
    const all = leaves(one);
    let at = start;
    for (const child of one.children) {
      const part = (width * leaves(child)) / all;
      share(child, at, part);
      at += part;
    }
  };
  // The rows of a crowded ring go on across the gap, so that its last is not beside its first.
  const all = leaves(root);
  const slots = all > FEW ? all + GAP_SLOTS : all;
  share(root, -Math.PI / 2, (2 * Math.PI * all) / slots);
  return angles;
}

/**
 * How far from the middle each is drawn: rings wide enough for the two that are nearest to each other.
 * A crowded ring has several rows, whose names do not reach into one another.
 */
function radiiOf(all: readonly Reached[], angles: ReadonlyMap<string, number>) {
  const radii = new Map<string, number>();
  let least = 0;
  for (let distance = 1; distance <= (all.at(-1)?.distance ?? 0); distance += 1) {
    const ring = all
      .filter((one) => one.distance === distance)
      .map(({ id }) => ({ id, angle: angles.get(id) ?? 0 }))
      .toSorted((a, b) => a.angle - b.angle);
    const around = (ring[0]?.angle ?? 0) + 2 * Math.PI;
    const steps = ring.map(({ angle }, i) => (ring[i + 1]?.angle ?? around) - angle);
    const wide = SPACING_PX / Math.min(2 * Math.PI, ...steps);
    // Of r rows the outermost is at wide / r + (r - 1) * GAP_PX: least where r * r is wide / GAP_PX.
    const rows = Math.max(1, Math.round(Math.sqrt(wide / GAP_PX)));
    const inner = Math.max(least + GAP_PX, wide / rows);
    ring.forEach(({ id }, i) => {
      radii.set(id, inner + (i % rows) * GAP_PX);
    });
    least = inner + (rows - 1) * GAP_PX;
  }
  return radii;
}

/** The nodes at most `depth` links from `centre`, and where each is drawn. */
export function drawn(net: Net, centre: string, depth: number): Drawing {
  const { known, to, from } = linksOf(net);
  const name = (id: string) => known.get(id)?.name ?? id;
  const beside = (id: string) =>
    [...new Set([...(to.get(id) ?? []), ...(from.get(id) ?? [])])].toSorted(
      (a, b) => order.compare(name(a), name(b)) || (a < b ? -1 : 1),
    );
  const all = known.has(centre) ? reached(centre, depth, beside) : [];
  const shown = all.slice(0, MOST);
  const [root] = shown;
  const angles = root ? anglesOf(root) : new Map<string, number>();
  const radii = radiiOf(shown, angles);
  const spots = new Map<string, Spot>();
  for (const { id, distance } of shown) {
    const about = known.get(id);
    const angle = angles.get(id) ?? 0;
    const radius = radii.get(id) ?? 0;
    if (!about) continue;
    const place = { x: radius * Math.cos(angle), y: radius * Math.sin(angle), angle };
    const links = { to: to.get(id) ?? [], from: from.get(id) ?? [] };
    spots.set(id, { ...about, ...place, ...links, distance });
  }
  const tree = new Set(shown.flatMap((one) => one.children.map(({ id }) => `${one.id}\n${id}`)));
  const lines = net.links.flatMap(([one, other]): Line[] => {
    const [source, target] = [spots.get(one), spots.get(other)];
    if (!source || !target) return [];
    const isTree = tree.has(`${one}\n${other}`) || tree.has(`${other}\n${one}`);
    return [{ id: `${one}\n${other}`, source, target, isTree }];
  });
  const isUpright = shown.length <= FEW;
  const reach = Math.max(0, ...radii.values());
  const half = { x: reach + MARGIN_PX, y: reach + (isUpright ? MARGIN_FLAT_PX : MARGIN_PX) };
  return { spots: [...spots.values()], lines, total: all.length, half, isUpright };
}

/** The spot that lies nearest in a direction; null where there is none. */
export function towards(spots: readonly Spot[], at: Spot, dx: number, dy: number): Spot | null {
  let best: Spot | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const spot of spots) {
    const along = (spot.x - at.x) * dx + (spot.y - at.y) * dy;
    const aside = Math.abs((spot.x - at.x) * dy - (spot.y - at.y) * dx);
    // What lies more aside than ahead is in another direction.
    if (along < 1 || aside > along) continue;
    const cost = along + 2 * aside;
    if (cost < least) {
      least = cost;
      best = spot;
    }
  }
  return best;
}
