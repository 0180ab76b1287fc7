import type { ReactNode } from "react";
import type { NetNode } from "./graphLayout";
import styles from "./Legend.module.css";
import { Shape } from "./Shape";

type SampleProps = { shape: NetNode["shape"]; tone?: number | undefined };

/** A sign of a drawing, with the colour of its group. */
export function Sample({ shape, tone }: SampleProps) {
  const colour = tone === undefined ? {} : { "--tone": `var(--tone-${tone})` };
  return (
    <svg viewBox="-8 -8 16 16" style={colour as object} aria-hidden>
      <Shape shape={shape} radius={6} />
    </svg>
  );
}

/** What the signs of a drawing mean: list items of a sample and its words. */
export function Legend({ label, children }: { label: string; children: ReactNode }) {
  return (
    <ul className={styles.legend} aria-label={label}>
      {children}
    </ul>
  );
}
