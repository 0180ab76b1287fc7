// Which part of a graph is in view: moved, made larger and smaller, and never lost. Pure.
import type { Places } from "./graphLayout";

/** A place of the graph is shown at `x + scale * place`. */
export type View = { x: number; y: number; scale: number };
export type Size = { width: number; height: number };

const LEAST_SCALE = 0.03;
const MOST_SCALE = 6;
/** Few nodes are not blown up to fill the view. */
const MOST_FIT = 1.6;
/** Room for the names at the edges; less where there is less. */
const MARGIN = { x: 72, y: 36, share: 0.16 };

const within = (value: number, least: number, most: number) =>
  Math.max(least, Math.min(most, value));

/** All of it in view; a part that one node is in the middle of stays in the middle. */
export function fitted(places: Places, { width, height }: Size, isCentred: boolean): View {
  let [left, top, right, bottom] = [0, 0, 0, 0];
  for (let one = 0; one < places.length; one += 2) {
    const [x = 0, y = 0] = places.subarray(one, one + 2);
    [left, right] = [Math.min(left, x), Math.max(right, x)];
    [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
  }
  if (isCentred) {
    [right, bottom] = [Math.max(right, -left), Math.max(bottom, -top)];
    [left, top] = [-right, -bottom];
  }
  const free = {
    x: width - 2 * Math.min(MARGIN.x, MARGIN.share * width),
    y: height - 2 * Math.min(MARGIN.y, MARGIN.share * height),
  };
  const scale = within(
    Math.min(free.x / (right - left || 1), free.y / (bottom - top || 1)),
    LEAST_SCALE,
    MOST_FIT,
  );
  const middle = { x: (left + right) / 2, y: (top + bottom) / 2 };
  return { x: width / 2 - scale * middle.x, y: height / 2 - scale * middle.y, scale };
}

/** Larger or smaller by a factor; what is at a point of the view stays there. */
export function zoomed(view: View, factor: number, at: { x: number; y: number }): View {
  const scale = within(view.scale * factor, LEAST_SCALE, MOST_SCALE);
  const grown = scale / view.scale;
  return { x: at.x - grown * (at.x - view.x), y: at.y - grown * (at.y - view.y), scale };
}

/** Moved no farther than needed for a place of the graph to be in view. */
export function showing(
  view: View,
  place: { x: number; y: number },
  { width, height }: Size,
): View {
  const [left, top] = [view.x + view.scale * place.x, view.y + view.scale * place.y];
  const edge = Math.min(60, width / 4, height / 4);
  return {
    ...view,
    x: view.x + within(left, edge, width - edge) - left,
    y: view.y + within(top, edge, height - edge) - top,
  };
}
