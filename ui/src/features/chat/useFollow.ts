import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { Session } from "../../run/session";

/** How near to its end, in pixels, a reader counts as being at the end. */
const NEAR_PX = 48;

type Seen = { key: string; top: number };

const rowsOf = (page: HTMLElement) => [...page.querySelectorAll<HTMLElement>("[data-turn]")];

/** Where the turns stand: first those in view from the top, then those above, the nearest first. */
function seenIn(page: HTMLElement): Seen[] {
  const edge = page.getBoundingClientRect().top + 1;
  const rows = rowsOf(page).map((row) => {
    const { top, bottom } = row.getBoundingClientRect();
    return { key: row.dataset.turn ?? "", top, bottom };
  });
  const first = rows.findIndex(({ bottom }) => bottom > edge);
  return first < 0 ? rows.reverse() : [...rows.slice(first), ...rows.slice(0, first).reverse()];
}

/** Scrolls so that the first of the turns that is still there stands where it stood. */
function keepPlace(page: HTMLElement, seen: readonly Seen[]): void {
  const now = new Map(rowsOf(page).map((row) => [row.dataset.turn, row]));
  const anchor = seen.find(({ key }) => now.has(key));
  const moved = anchor && (now.get(anchor.key)?.getBoundingClientRect().top ?? 0) - anchor.top;
  if (moved && Math.abs(moved) > 0.5) page.scrollTop += moved;
}

/**
 * Keeps a growing page at its end while the reader is there; elsewhere what is being read stays where
 * it is, whatever comes and goes above it and below.
 */
export function useFollow(page: RefObject<HTMLElement | null>, session: Session, grown: unknown) {
  const following = useRef(true);
  const seen = useRef<Seen[]>([]);
  const [away, setAway] = useState(false);
  const settle = useCallback(() => {
    const element = page.current;
    if (!element) return;
    if (following.current) element.scrollTo({ top: element.scrollHeight });
    else keepPlace(element, seen.current);
    seen.current = seenIn(element);
  }, [page]);
  const toEnd = useCallback(() => {
    following.current = true;
    setAway(false);
    settle();
  }, [settle]);
  const leave = useCallback(() => {
    following.current = false;
  }, []);
  useLayoutEffect(() => {
    void grown;
    if (session.still) following.current = false;
    session.still = false;
    settle();
  }, [session, settle, grown]);
  useEffect(() => {
    const element = page.current;
    if (!element) return;
    let before = element.scrollTop;
    const look = () => {
      const left = element.scrollHeight - element.scrollTop - element.clientHeight;
      // Only a reader scrolls up; growing and shrinking of the page never counts as leaving.
      if (left < NEAR_PX) following.current = !session.store.get().newer;
      else if (element.scrollTop < before) following.current = false;
      before = element.scrollTop;
      seen.current = seenIn(element);
      setAway((left >= NEAR_PX && !following.current) || session.store.get().newer);
    };
    const resized = new ResizeObserver(settle);
    for (const child of element.children) resized.observe(child);
    resized.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      resized.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, [page, session, settle]);
  return { away, toEnd, leave };
}
