import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";

/** How near to its end, in pixels, a reader counts as being at the end. */
const NEAR_PX = 48;

/** Keeps a growing page at its end, but only while the reader is there. */
export function useFollow(page: RefObject<HTMLElement | null>, grown: unknown) {
  const following = useRef(true);
  const [away, setAway] = useState(false);
  const toEnd = useCallback(() => {
    following.current = true;
    setAway(false);
    page.current?.scrollTo({ top: page.current.scrollHeight });
  }, [page]);
  useLayoutEffect(() => {
    void grown;
    if (following.current) page.current?.scrollTo({ top: page.current.scrollHeight });
  }, [page, grown]);
  useEffect(() => {
    const element = page.current;
    if (!element) return;
    let before = element.scrollTop;
    const look = () => {
      const left = element.scrollHeight - element.scrollTop - element.clientHeight;
      // Only a reader scrolls up; growing and shrinking of the page never counts as leaving.
      if (left < NEAR_PX) following.current = true;
      else if (element.scrollTop < before) following.current = false;
      before = element.scrollTop;
      setAway(left >= NEAR_PX && !following.current);
    };
    const resized = new ResizeObserver(() => following.current && toEnd());
    for (const child of element.children) resized.observe(child);
    resized.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      resized.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, [page, toEnd]);
  return { away, toEnd };
}
