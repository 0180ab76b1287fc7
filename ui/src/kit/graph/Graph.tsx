// What hangs together, drawn. It stands still until somebody moves it; arrows go from node to node, Enter opens one.
import { quadtree } from "d3-quadtree";
import { Maximize, Minus, Plus } from "lucide-react";
import {
  type CSSProperties,
  type KeyboardEvent,
  type MouseEvent,
  type PointerEvent,
  useCallback,
  useId,
  useMemo,
  useRef,
  useState,
} from "react";
import { flushSync } from "react-dom";
import { t } from "../../i18n";
import { IconButton } from "../Button";
import { Skeleton } from "../pieces";
import styles from "./Graph.module.css";
import { NodeLink, Painting, Samples } from "./GraphParts";
import { type Drawing, type Spot, towards } from "./graphLayout";
import { useLayout } from "./useLayout";
import { usePalette } from "./usePalette";
import { useView } from "./useView";

/** So many nodes are links of the page at any time, those that matter most; any other becomes one when it is reached. */
const MOST_LINKS = 80;
const ZOOM = 1.4;
const REACH_PX = 22;

const arrows: Record<string, [dx: number, dy: number]> = {
  ArrowRight: [1, 0],
  ArrowLeft: [-1, 0],
  ArrowDown: [0, 1],
  ArrowUp: [0, -1],
};

type GraphProps = {
  drawing: Drawing;
  /** What it shows, for who does not see it. */
  label: string;
  /** What its nodes are called, such as "pages". */
  noun: string;
  onOpen: (spot: Spot) => void;
};

export function Graph({ drawing, label, noun, onOpen }: GraphProps) {
  const hint = useId();
  const box = useRef<HTMLElement>(null);
  const samples = useRef<HTMLDivElement>(null);
  const palette = usePalette(samples);
  const places = useLayout(drawing);
  const { spots } = drawing;
  const { view, size, pointers, wasMoved, zoom, show, showAll } = useView(
    box,
    places,
    spots[0]?.distance === 0,
  );
  const [pointed, setPointed] = useState(-1);
  const [walked, setWalked] = useState<string | null>(null);
  const [isFocused, setFocused] = useState(false);
  const at = Math.max(
    0,
    spots.findIndex(({ id }) => id === walked),
  );
  const active = pointed >= 0 ? pointed : isFocused ? at : -1;
  const tree = useMemo(() => {
    const all = places ? spots.map((_, place) => place) : [];
    return quadtree(
      all,
      (place) => places?.[2 * place] ?? 0,
      (place) => places?.[2 * place + 1] ?? 0,
    );
  }, [places, spots]);
  const nearest = (event: { clientX: number; clientY: number }): number => {
    const corner = box.current?.getBoundingClientRect();
    if (!view || !corner) return -1;
    const x = (event.clientX - corner.left - view.x) / view.scale;
    const y = (event.clientY - corner.top - view.y) / view.scale;
    return tree.find(x, y, REACH_PX / view.scale) ?? -1;
  };
  const go = (place: number) => {
    const spot = spots[place];
    if (!spot || !places) return;
    flushSync(() => setWalked(spot.id));
    const links = box.current?.querySelectorAll<HTMLAnchorElement>("a[data-id]") ?? [];
    [...links].find(({ dataset }) => dataset.id === spot.id)?.focus({ preventScroll: true });
    show({ x: places[2 * place] ?? 0, y: places[2 * place + 1] ?? 0 });
  };
  const press = (event: KeyboardEvent) => {
    const [dx, dy] = arrows[event.key] ?? [0, 0];
    if (event.ctrlKey || event.metaKey || event.altKey || !places) return;
    if (dx || dy) go(towards(places, at, dx, dy));
    else if (event.key === "Home") go(0);
    else if (event.key === "+" || event.key === "=") zoom(ZOOM);
    else if (event.key === "-") zoom(1 / ZOOM);
    else if (event.key === "0") showAll();
    else return;
    event.preventDefault();
  };
  const open = useCallback(
    (event: MouseEvent, spot: Spot | undefined) => {
      if (!spot || event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
      event.preventDefault();
      onOpen(spot);
    },
    [onOpen],
  );
  const click = (event: MouseEvent) => {
    if (event.target instanceof Element && event.target.closest("button")) return;
    if (wasMoved() && event.detail > 0) return event.preventDefault();
    // The key Enter clicks the link that has the focus, a pointer what lies nearest to it.
    const pressed = event.detail > 0 ? nearest(event) : at;
    open(event, spots[pressed]);
  };
  const linked = spots.slice(0, MOST_LINKS).map((_, place) => place);
  for (const place of new Set([at, pointed])) if (place >= MOST_LINKS) linked.push(place);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the links in it are what the keyboard reaches
    <section
      ref={box}
      className={`${styles.graph} ${pointed >= 0 ? styles.pointing : ""}`}
      aria-label={t("Drawing")}
      onClick={click}
      {...pointers}
      onPointerMove={(event: PointerEvent<HTMLElement>) => {
        pointers.onPointerMove(event);
        if (event.pointerType === "mouse") setPointed(event.buttons ? -1 : nearest(event));
      }}
      onPointerLeave={() => setPointed(-1)}
    >
      <p id={hint} className="visually-hidden">
        {t(
          "Arrow keys move between {noun}, Enter opens one, plus and minus zoom. The same {noun} are in a list beside it.",
          { noun },
        )}
      </p>
      {!places && spots.length > 0 && <Skeleton lines={6} label={t("Drawing the graph")} />}
      {places && view && palette && (
        <Painting {...{ drawing, places, view, size, palette, active }} />
      )}
      {/* biome-ignore lint/a11y/useSemanticElements: a group of links within a drawing */}
      <div
        role="group"
        aria-label={label}
        aria-describedby={hint}
        className={styles.nodes}
        style={
          view
            ? ({
                "--x": `${view.x}px`,
                "--y": `${view.y}px`,
                "--scale": view.scale,
              } as CSSProperties)
            : undefined
        }
        onKeyDown={press}
        onFocus={({ target }) => {
          setFocused(target.matches(":focus-visible"));
          setWalked(target.dataset.id ?? null);
        }}
        onBlur={() => setFocused(false)}
      >
        {places &&
          linked.map((place) => (
            <NodeLink
              key={spots[place]?.id}
              spot={spots[place]}
              isStop={place === at}
              x={places[2 * place] ?? 0}
              y={places[2 * place + 1] ?? 0}
            />
          ))}
      </div>
      <div className={styles.tools}>
        <IconButton icon={Plus} label={t("Zoom in")} onClick={() => zoom(ZOOM)} />
        <IconButton icon={Minus} label={t("Zoom out")} onClick={() => zoom(1 / ZOOM)} />
        <IconButton icon={Maximize} label={t("Fit to view")} onClick={showAll} />
      </div>
      <Samples row={samples} />
    </section>
  );
}
