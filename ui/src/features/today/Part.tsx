import type { ReactNode } from "react";
import planner from "../../planner/planner.module.css";

/** A part of the day; without anything in it there is none. */
export function Part(props: { title: string; many: number; fault?: boolean; children: ReactNode }) {
  const { title, many, fault, children } = props;
  if (!many) return null;
  return (
    <section aria-label={title}>
      <h2 className={fault ? planner.overdue : ""}>
        {title} <small>{many}</small>
      </h2>
      <ul aria-label={title}>{children}</ul>
    </section>
  );
}
