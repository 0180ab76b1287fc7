import { type RefObject, useLayoutEffect } from "react";

/** Tells the page, as `--reach`, how far up from its end a part reaches: what is noted stands above it. */
export function useReach(part: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const element = part.current;
    const { style } = document.documentElement;
    if (!element) return;
    const tell = () => {
      const reach = innerHeight - element.getBoundingClientRect().top;
      style.setProperty("--reach", `${Math.ceil(reach)}px`);
    };
    const resized = new ResizeObserver(tell);
    resized.observe(element);
    addEventListener("resize", tell);
    return () => {
      resized.disconnect();
      removeEventListener("resize", tell);
      style.removeProperty("--reach");
    };
  }, [part]);
}
