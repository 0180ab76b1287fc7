// What a graph is made of: the canvas, the links over its nodes, and samples of its colours.
import { memo, type RefObject, useLayoutEffect, useRef } from "react";
import { t } from "../../i18n";
import styles from "./Graph.module.css";
import type { Spot } from "./graphLayout";
import { paint, type Scene } from "./paint";

/** A node in words: what it is called, where it stands, and with how many it is linked. */
function said({ name, isMissing, distance, to, from }: Spot): string {
  const links = [
    t("links to {count}", { count: to.length }),
    t("{count, plural, one {# links here} other {# link here}}", { count: from.length }),
  ];
  return [name, isMissing && t("does not exist yet"), distanceName(distance), ...links]
    .filter(Boolean)
    .join(", ");
}

/** How far a node is from the middle; nothing where there is no middle. */
export function distanceName(distance: number | null): string {
  if (distance === null) return "";
  if (distance === 0) return t("in the middle");
  return t("{count, plural, one {# link} other {# links}} away", { count: distance });
}

/** Drawn anew only when something of it is another. */
export const Painting = memo(function Painting(scene: Omit<Scene, "widths">) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const widths = useRef(new Map<string, number>());
  const { size } = scene;
  const { font } = scene.palette;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another font has other widths
  useLayoutEffect(() => widths.current.clear(), [font, scene.palette]);
  useLayoutEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context) return;
    const density = devicePixelRatio;
    context.canvas.width = Math.round(size.width * density);
    context.canvas.height = Math.round(size.height * density);
    context.scale(density, density);
    paint(context, { ...scene, widths: widths.current });
  });
  return <canvas ref={canvas} aria-hidden style={{ width: size.width, height: size.height }} />;
});

type NodeLinkProps = { spot: Spot | undefined; isStop: boolean; x: number; y: number };

/** A node as a real link over its drawing: for the keyboard, a screen reader, and to open it in another tab. */
export const NodeLink = memo(function NodeLink({ spot, isStop, x, y }: NodeLinkProps) {
  if (!spot) return null;
  return (
    <a
      href={spot.address}
      data-id={spot.id}
      className={styles.node}
      draggable={false}
      aria-current={spot.distance === 0 ? "page" : undefined}
      tabIndex={isStop ? 0 : -1}
      style={{
        transform: `translate(calc(var(--x) + var(--scale) * ${x.toFixed(1)}px), calc(var(--y) + var(--scale) * ${y.toFixed(1)}px))`,
      }}
    >
      <span className="visually-hidden">{said(spot)}</span>
    </a>
  );
});

const tones = ["tone0", "tone1", "tone2", "tone3", "tone4", "tone5", "tone6", "tone7"] as const;
const samples = ["ink", "paper", "line", "plain", "accent", "lost", ...tones] as const;

/** The colours of the page, in the order in which `usePalette` reads them. */
export function Samples({ row }: { row: RefObject<HTMLDivElement | null> }) {
  return (
    <div ref={row} className={styles.samples} aria-hidden>
      {samples.map((name) => (
        <i key={name} className={styles[name]} />
      ))}
    </div>
  );
}
