import { useEffect, useRef } from "react";
import styles from "./Tasks.module.css";

/** Reads on as soon as it comes into view. */
export function More({ onMore }: { onMore: () => Promise<void> }) {
  const end = useRef<HTMLDivElement>(null);
  const latest = useRef(onMore);
  latest.current = onMore;
  useEffect(() => {
    const watch = new IntersectionObserver(([seen]) => {
      if (!seen?.isIntersecting) return;
      watch.disconnect();
      void latest.current();
    });
    if (end.current) watch.observe(end.current);
    return () => watch.disconnect();
  }, []);
  return <div ref={end} className={styles.listEnd} />;
}
