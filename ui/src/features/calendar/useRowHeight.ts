import { type RefObject, useEffect, useState } from "react";

/** How high each of `rows` rows of a grid is, as long as it is shown. */
export function useRowHeight(grid: RefObject<HTMLElement | null>, rows: number): number {
  const [height, setHeight] = useState(0);
  useEffect(() => {
    const element = grid.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setHeight(element.clientHeight));
    watch.observe(element);
    return () => watch.disconnect();
  }, [grid]);
  return height / rows;
}
