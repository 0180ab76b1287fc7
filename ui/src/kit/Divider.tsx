import type { KeyboardEvent, PointerEvent } from "react";
import styles from "./panes.module.css";

type DividerProps = {
  label: string;
  /** The edge of its pane that it stands at. */
  edge: "start" | "end";
  value: number;
  least: number;
  usual: number;
  most: number;
  onChange: (width: number) => void;
};

const STEP_PX = 24;

/** The edge of a pane: dragged, moved by the arrow keys, set back by a double click or Enter. */
export function Divider({ label, edge, value, least, usual, most, onChange }: DividerProps) {
  const within = (width: number) => Math.round(Math.min(most, Math.max(least, width)));
  /** How much wider the pane is when the edge moves to the right. */
  const outward = () => (edge === "end" ? 1 : -1) * (document.dir === "rtl" ? -1 : 1);
  const take = (down: PointerEvent<HTMLElement>) => {
    if (down.button !== 0) return;
    down.preventDefault();
    const { currentTarget: line, pointerId, clientX: from } = down;
    line.setPointerCapture(pointerId);
    const move = (event: globalThis.PointerEvent) =>
      onChange(within(value + outward() * (event.clientX - from)));
    line.addEventListener("pointermove", move);
    const end = () => line.removeEventListener("pointermove", move);
    line.addEventListener("lostpointercapture", end, { once: true });
  };
  const press = (event: KeyboardEvent) => {
    const to = {
      ArrowRight: value + outward() * STEP_PX,
      ArrowLeft: value - outward() * STEP_PX,
      Home: least,
      End: most,
      Enter: usual,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    onChange(within(to));
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a line between panes that is moved is no thematic break
    <div
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={value}
      aria-valuemin={least}
      aria-valuemax={most}
      tabIndex={0}
      className={`${styles.divider} ${edge === "end" ? styles.atEnd : styles.atStart}`}
      onPointerDown={take}
      onDoubleClick={() => onChange(usual)}
      onKeyDown={press}
    />
  );
}
