import type { ReactNode } from "react";
import { usePanes } from "../../kit/Panes";
import styles from "./memory.module.css";

/** The head of a part of what stands beside the list. */
export function Part({ id, children }: { id?: string; children: ReactNode }) {
  const Heading = usePanes()?.isBeside ? "h3" : "h2";
  return (
    <Heading className={styles.part} {...(id ? { id } : {})}>
      {children}
    </Heading>
  );
}
