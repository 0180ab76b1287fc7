// What hangs together, drawn. Nothing of it moves by itself; arrows go from node to node, Enter opens one.
import {
  type KeyboardEvent,
  type RefObject,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { count } from "../../services/words";
import { type Drawing, type Line, type Spot, towards } from "./graphLayout";
import "../../styles/graph.css";

const NAME_CHARS = 24;
const OUTWARD_PX = 10;
const MIDDLE_RADIUS = 8;
const LEAST_RADIUS = 3.5;
/** Below it a square is a dot. */
const LEAST_SHAPE = 5;
const MOST_RADIUS = 7;

const arrows: Record<string, [dx: number, dy: number]> = {
  ArrowRight: [1, 0],
  ArrowLeft: [-1, 0],
  ArrowDown: [0, 1],
  ArrowUp: [0, -1],
};

/** As much of a name as there is room for. The dots are no part of what it is called. */
function Short({ name }: { name: string }) {
  if (name.length <= NAME_CHARS) return name;
  return (
    <>
      {name.slice(0, NAME_CHARS - 1)}
      <tspan aria-hidden>…</tspan>
    </>
  );
}

function said({ name, isMissing, distance, to, from }: Spot): string {
  const state = isMissing ? ", does not exist yet" : "";
  const far = distance === 0 ? "in the middle" : `${count(distance, "link")} away`;
  return `${name}${state}, ${far}, links to ${to.length}, linked from ${from.length}`;
}

type GraphProps = {
  drawing: Drawing;
  /** What it shows, for who does not see it. */
  label: string;
  /** What its nodes are called, such as "pages". */
  noun: string;
  /** All of it is in view, however small that makes it. */
  isWhole: boolean;
  onOpen: (spot: Spot) => void;
};

export function Graph({ drawing, label, noun, isWhole, onOpen }: GraphProps) {
  const { spots, lines, half, isUpright } = drawing;
  const hint = useId();
  const box = useRef<HTMLElement>(null);
  const svg = useRef<SVGSVGElement>(null);
  const [at, setAt] = useState<string | null>(null);
  const active = spots.find(({ id }) => id === at) ?? spots[0];
  useCentred(box, half.x, half.y, isWhole);
  const go = (spot: Spot | null) => {
    if (!spot) return;
    setAt(spot.id);
    const links = svg.current?.querySelectorAll<SVGAElement>("a") ?? [];
    links[spots.indexOf(spot)]?.focus();
  };
  const press = (event: KeyboardEvent) => {
    const [dx, dy] = arrows[event.key] ?? [0, 0];
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (!isPlain || !active) return;
    if (dx || dy) go(towards(spots, active, dx, dy));
    else if (event.key === "Home") go(spots[0] ?? null);
    else return;
    event.preventDefault();
  };
  return (
    <section
      ref={box}
      className={`graph scroll ${isWhole ? "whole" : ""}`}
      aria-label="Drawing"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a large drawing is scrolled with the keyboard
      tabIndex={0}
    >
      <p id={hint} className="visually-hidden">
        Arrow keys move between {noun}, Enter opens one. The same {noun} are in a list beside it.
      </p>
      {/* biome-ignore lint/a11y/useSemanticElements: a group of links within a drawing */}
      <svg
        ref={svg}
        role="group"
        aria-label={label}
        aria-describedby={hint}
        width={2 * half.x}
        height={2 * half.y}
        viewBox={`${-half.x} ${-half.y} ${2 * half.x} ${2 * half.y}`}
        onKeyDown={press}
      >
        <g aria-hidden>
          {lines.map((line) => (
            <path
              key={line.id}
              d={wayOf(line)}
              className={classOf(line, active && at !== null ? active.id : null)}
            />
          ))}
        </g>
        {spots.map((spot) => (
          <a
            key={spot.id}
            href={spot.address}
            className={lookOf(spot)}
            aria-current={spot.distance === 0 ? "page" : undefined}
            tabIndex={spot === active ? 0 : -1}
            onFocus={() => setAt(spot.id)}
            onBlur={() => setAt(null)}
            onPointerEnter={() => setAt(spot.id)}
            onPointerLeave={() => setAt(null)}
            onClick={(event) => {
              if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
              event.preventDefault();
              onOpen(spot);
            }}
          >
            <title>{said(spot)}</title>
            <g transform={`translate(${spot.x} ${spot.y})`}>
              <Shape shape={spot.shape} radius={radiusOf(spot)} />
              <Name spot={spot} isUpright={isUpright} />
            </g>
          </a>
        ))}
      </svg>
    </section>
  );
}

/** Shapes of one size to the eye. */
export function Shape({ shape, radius }: { shape: Spot["shape"]; radius: number }) {
  const half = radius * 0.9;
  switch (shape) {
    case "sheet":
      return (
        <rect
          className="dot"
          x={-0.7 * radius}
          y={-radius}
          width={1.4 * radius}
          height={2 * radius}
          rx={1}
        />
      );
    case "square":
      return <rect className="dot" x={-half} y={-half} width={2 * half} height={2 * half} rx={1} />;
    case "diamond":
      return (
        <path
          className="dot"
          d={`M0 ${-1.2 * radius}L${radius} 0 0 ${1.2 * radius} ${-radius} 0Z`}
        />
      );
    case "triangle":
      return (
        <path
          className="dot"
          d={`M0 ${-1.1 * radius}L${1.1 * radius} ${half} ${-1.1 * radius} ${half}Z`}
        />
      );
    default:
      return <circle className="dot" r={radius} />;
  }
}

function lookOf({ isMissing, distance, tone }: Spot): string {
  if (isMissing) return "spot missing";
  return ["spot", distance === 0 && "middle", tone !== undefined && `tone-${tone}`]
    .filter(Boolean)
    .join(" ");
}

/** The node in the middle stays in the middle of the view when the drawing grows. */
function useCentred(box: RefObject<HTMLElement | null>, x: number, y: number, isWhole: boolean) {
  const before = useRef<{ x: number; y: number } | null>(null);
  useLayoutEffect(() => {
    const element = box.current;
    if (isWhole) before.current = null;
    if (!element || isWhole) return;
    if (before.current) {
      element.scrollLeft += x - before.current.x;
      element.scrollTop += y - before.current.y;
    } else {
      element.scrollLeft = x - element.clientWidth / 2;
      element.scrollTop = y - element.clientHeight / 2;
    }
    before.current = { x, y };
  }, [box, x, y, isWhole]);
}

function radiusOf({ distance, shape, to, from }: Spot): number {
  if (distance === 0) return MIDDLE_RADIUS;
  const least = shape ? LEAST_SHAPE : LEAST_RADIUS;
  return Math.min(MOST_RADIUS, least + Math.log2(1 + to.length + from.length) / 2);
}

/** A link is straight where it holds the drawing together, and bends towards the middle elsewhere. */
function wayOf({ source, target, isTree }: Line): string {
  const start = `M${source.x} ${source.y}`;
  if (isTree) return `${start} L${target.x} ${target.y}`;
  const [x, y] = [(source.x + target.x) / 4, (source.y + target.y) / 4];
  return `${start} Q${x} ${y} ${target.x} ${target.y}`;
}

function classOf({ source, target, isTree }: Line, near: string | null): string {
  const isNear = near === source.id || near === target.id;
  const isLost = source.isMissing || target.isMissing;
  return ["link", isTree && "tree", isNear && "near", isLost && "missing"]
    .filter(Boolean)
    .join(" ");
}

function Name({ spot, isUpright }: { spot: Spot; isUpright: boolean }) {
  if (spot.distance === 0) {
    return (
      <text y={MIDDLE_RADIUS + 16}>
        <Short name={spot.name} />
      </text>
    );
  }
  const isLeft = Math.cos(spot.angle) < -1e-9;
  const degrees = isUpright ? 0 : (spot.angle * 180) / Math.PI + (isLeft ? 180 : 0);
  return (
    <text
      className={isLeft ? "left" : "right"}
      transform={`rotate(${degrees})`}
      x={isLeft ? -OUTWARD_PX : OUTWARD_PX}
      dy="0.32em"
    >
      <Short name={spot.name} />
    </text>
  );
}
