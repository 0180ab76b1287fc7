import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import styles from "./DropHere.module.css";

/** Lies over a place while files hang above it, and says what becomes of them. */
export function DropHere({ icon: Icon, children }: { icon: LucideIcon; children: ReactNode }) {
  return (
    <p className={styles.here}>
      <Icon size={20} aria-hidden />
      {children}
    </p>
  );
}
