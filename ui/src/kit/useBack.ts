import { type RefObject, useRef } from "react";
import type { Anchor } from "./Popover";

/** What had the focus before something floated: the button that opened it, else what was asked of. */
export function useBack(anchor: Anchor): RefObject<HTMLElement | null> {
  const before = useRef(document.activeElement as HTMLElement | null);
  return "current" in anchor ? anchor : before;
}
