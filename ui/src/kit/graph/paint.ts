// Draws a graph on a canvas: links, nodes by shape and colour, and the names that there is room for.
import type { Drawing, Places, Spot } from "./graphLayout";
import type { Size, View } from "./view";

/** The colours of the page, as the stylesheet has them now. */
export type Palette = {
  ink: string;
  paper: string;
  line: string;
  plain: string;
  accent: string;
  lost: string;
  tones: readonly string[];
  font: string;
};

const NAME_PX = 12;
const NAME_CHARS = 30;
const HALO_PX = 4;
const EDGE_PX = 6;
/** Names of a crowded view: those that matter most. */
const MOST_NAMES = 160;
const FADED = 0.22;
/** Nodes shrink less than their distances, so that they stay to be seen. */
const sizeOf = (radius: number, scale: number) =>
  radius * Math.min(1.4, Math.max(0.3, scale ** 0.6));

/** How large a node is drawn. */
export const drawnRadius = ({ radius }: Spot, scale: number): number => sizeOf(radius, scale);

const shortened = (name: string): string => {
  const signs = [...name];
  return signs.length > NAME_CHARS
    ? `${signs
        .slice(0, NAME_CHARS - 1)
        .join("")
        .trimEnd()}…`
    : name;
};

type Canvas = CanvasRenderingContext2D;

function shape(canvas: Canvas, { shape: kind = "circle" }: Spot, x: number, y: number, r: number) {
  const half = 0.9 * r;
  switch (kind) {
    case "sheet":
      canvas.rect(x - 0.7 * r, y - r, 1.4 * r, 2 * r);
      break;
    case "square":
      canvas.rect(x - half, y - half, 2 * half, 2 * half);
      break;
    case "diamond":
      canvas.moveTo(x, y - 1.2 * r);
      canvas.lineTo(x + r, y);
      canvas.lineTo(x, y + 1.2 * r);
      canvas.lineTo(x - r, y);
      canvas.closePath();
      break;
    case "triangle":
      canvas.moveTo(x, y - 1.1 * r);
      canvas.lineTo(x + 1.1 * r, y + half);
      canvas.lineTo(x - 1.1 * r, y + half);
      canvas.closePath();
      break;
    default:
      canvas.moveTo(x + r, y);
      canvas.arc(x, y, r, 0, 2 * Math.PI);
  }
}

export type Scene = {
  drawing: Drawing;
  places: Places;
  view: View;
  size: Size;
  palette: Palette;
  /** The node that is pointed at or has the focus, by its place; -1 if none is. */
  active: number;
  /** The widths of names that were measured. */
  widths: Map<string, number>;
};

export function paint(canvas: Canvas, scene: Scene): void {
  const { drawing, size, active } = scene;
  canvas.clearRect(0, 0, size.width, size.height);
  const near = new Set<number>();
  if (active >= 0) {
    near.add(active);
    for (const { source, target } of drawing.lines) {
      if (source === active) near.add(target);
      if (target === active) near.add(source);
    }
  }
  paintLines(canvas, scene);
  paintNodes(canvas, scene, near);
  paintNames(canvas, scene, near);
}

function pathOf(
  canvas: Canvas,
  { drawing, places, view }: Scene,
  wanted: (line: number) => boolean,
) {
  canvas.beginPath();
  drawing.lines.forEach(({ source, target }, line) => {
    if (!wanted(line)) return;
    const at = (place: number) => [
      view.x + view.scale * (places[2 * place] ?? 0),
      view.y + view.scale * (places[2 * place + 1] ?? 0),
    ];
    const [[x = 0, y = 0], [right = 0, down = 0]] = [at(source), at(target)];
    canvas.moveTo(x, y);
    canvas.lineTo(right, down);
  });
  canvas.stroke();
}

function paintLines(canvas: Canvas, scene: Scene) {
  const { drawing, palette, active } = scene;
  const isNear = (line: number) => {
    const ends = drawing.lines[line];
    return active >= 0 && (ends?.source === active || ends?.target === active);
  };
  canvas.lineWidth = 1;
  canvas.strokeStyle = palette.line;
  canvas.globalAlpha = active >= 0 ? 0.5 : 0.9;
  pathOf(canvas, scene, (line) => !drawing.lines[line]?.isMissing && !isNear(line));
  canvas.setLineDash([4, 4]);
  pathOf(canvas, scene, (line) => Boolean(drawing.lines[line]?.isMissing) && !isNear(line));
  canvas.setLineDash([]);
  canvas.globalAlpha = 1;
  if (active < 0) return;
  canvas.lineWidth = 2;
  canvas.strokeStyle = palette.accent;
  pathOf(canvas, scene, isNear);
}

function paintNodes(
  canvas: Canvas,
  { drawing, places, view, palette, active }: Scene,
  near: Set<number>,
) {
  const groups = new Map<
    string,
    { color: string; isFaded: boolean; isLost: boolean; nodes: number[] }
  >();
  drawing.spots.forEach((spot, place) => {
    const isFaded = active >= 0 && !near.has(place);
    const tone = spot.tone === undefined ? undefined : palette.tones[spot.tone];
    const color = tone ?? (spot.distance === 0 ? palette.accent : palette.plain);
    const key = `${color} ${isFaded} ${spot.isMissing}`;
    const group = groups.get(key) ?? { color, isFaded, isLost: Boolean(spot.isMissing), nodes: [] };
    group.nodes.push(place);
    groups.set(key, group);
  });
  for (const { color, isFaded, isLost, nodes } of groups.values()) {
    canvas.globalAlpha = isFaded ? FADED : 1;
    canvas.beginPath();
    for (const place of nodes) {
      const spot = drawing.spots[place];
      if (!spot) continue;
      const x = view.x + view.scale * (places[2 * place] ?? 0);
      const y = view.y + view.scale * (places[2 * place + 1] ?? 0);
      shape(canvas, spot, x, y, drawnRadius(spot, view.scale));
    }
    // A system's colour may let the links shine through.
    canvas.fillStyle = palette.paper;
    canvas.fill();
    canvas.fillStyle = color;
    if (!isLost) canvas.fill();
    canvas.lineWidth = isLost ? 1.5 : 1;
    canvas.strokeStyle = isLost ? palette.lost : palette.paper;
    canvas.stroke();
  }
  canvas.globalAlpha = 1;
}

type Box = { x: number; y: number; right: number; bottom: number };
const meet = (a: Box, b: Box) => a.x < b.right && b.x < a.right && a.y < b.bottom && b.y < a.bottom;

/** Which names are written, and where: those that matter most first, none over another, none beyond an edge. */
export function namesIn(
  { drawing, places, view, size, active }: Omit<Scene, "palette" | "widths">,
  near: ReadonlySet<number>,
  widthOf: (name: string) => number,
): { place: number; name: string; x: number; y: number }[] {
  const { spots } = drawing;
  const wanted = [active, ...near, ...spots.keys()].filter((place) => place >= 0);
  const names: { place: number; name: string; x: number; y: number }[] = [];
  const taken: Box[] = [];
  for (const place of new Set(wanted)) {
    const spot = spots[place];
    if (!spot || names.length >= MOST_NAMES) break;
    const x = view.x + view.scale * (places[2 * place] ?? 0);
    const y = view.y + view.scale * (places[2 * place + 1] ?? 0);
    if (x < 0 || y < 0 || x > size.width || y > size.height) continue;
    const name = shortened(spot.name);
    const half = widthOf(name) / 2;
    const middle = Math.max(half + EDGE_PX, Math.min(size.width - half - EDGE_PX, x));
    const far = drawnRadius(spot, view.scale) + NAME_PX;
    // Below its node; above it at the lower edge.
    const line = y + far + EDGE_PX > size.height ? y - far + NAME_PX / 2 : y + far;
    const box = { x: middle - half, y: line - NAME_PX, right: middle + half, bottom: line + 4 };
    if (place !== active && taken.some((other) => meet(other, box))) continue;
    taken.push(box);
    names.push({ place, name, x: middle, y: line });
  }
  return names;
}

function paintNames(canvas: Canvas, scene: Scene, near: Set<number>) {
  const { drawing, palette, active, widths } = scene;
  canvas.textAlign = "center";
  canvas.lineJoin = "round";
  canvas.lineWidth = HALO_PX;
  canvas.strokeStyle = palette.paper;
  const fontOf = (isStrong: boolean) => `${isStrong ? 600 : 400} ${NAME_PX}px ${palette.font}`;
  const widthOf = (name: string) => {
    const known = widths.get(name);
    if (known !== undefined) return known;
    canvas.font = fontOf(true);
    const { width } = canvas.measureText(name);
    widths.set(name, width);
    return width;
  };
  for (const { place, name, x, y } of namesIn(scene, near, widthOf)) {
    const spot = drawing.spots[place];
    canvas.font = fontOf(place === active || spot?.distance === 0);
    canvas.globalAlpha = active >= 0 && !near.has(place) ? 0.5 : 1;
    canvas.strokeText(name, x, y);
    canvas.fillStyle = spot?.isMissing
      ? palette.lost
      : place === active
        ? palette.accent
        : palette.ink;
    canvas.fillText(name, x, y);
  }
  canvas.globalAlpha = 1;
}
