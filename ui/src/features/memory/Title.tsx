import type { ReactNode } from "react";
import { ListButton, usePanes } from "../../kit/Panes";
import styles from "./memory.module.css";

/** The head of what stands beside the list; on a phone it is the page's. */
export function Title({ name, children }: { name: string; children?: ReactNode }) {
  const Heading = usePanes()?.phone ? "h1" : "h2";
  return (
    <header className={styles.title}>
      <ListButton />
      <Heading>{name}</Heading>
      <div className={styles.actions}>{children}</div>
    </header>
  );
}

/** The head of a part of what stands beside the list. */
export function Part({ id, children }: { id?: string; children: ReactNode }) {
  const Heading = usePanes()?.phone ? "h2" : "h3";
  return (
    <Heading className={styles.part} {...(id ? { id } : {})}>
      {children}
    </Heading>
  );
}
