import { type RefObject, useEffect, useRef } from "react";

/** A ref to what has the focus once something that took its place is `open` no more, unless it went elsewhere. */
export function useFocusAfter<T extends HTMLElement>(open: boolean): RefObject<T | null> {
  const back = useRef<T>(null);
  const was = useRef(open);
  useEffect(() => {
    if (was.current && !open && document.activeElement === document.body) {
      back.current?.focus({ preventScroll: true });
    }
    was.current = open;
  }, [open]);
  return back;
}
