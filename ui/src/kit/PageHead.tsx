import type { ReactNode } from "react";
import { ListButton, usePanes } from "./Panes";
import styles from "./pageHead.module.css";

type HeadProps = {
  title: ReactNode;
  /** It may be so long that it is cut rather than stands above the rest. */
  isLong?: boolean;
  /** The list beside it has no first heading of its own. */
  isMain?: boolean;
  /** Before the title, such as a way back. */
  lead?: ReactNode;
  /** What can be done with all of the page. */
  children?: ReactNode;
};

/** The head of a page: what it is called and what can be done with it; beside a list it is the second heading. */
export function PageHead({ title, isLong = false, isMain = false, lead, children }: HeadProps) {
  const Heading = usePanes()?.isBeside && !isMain ? "h2" : "h1";
  return (
    <header className={styles.head}>
      <ListButton />
      {lead}
      <Heading className={`clip ${isLong ? styles.long : ""}`}>{title}</Heading>
      {children && <div className={styles.actions}>{children}</div>}
    </header>
  );
}
