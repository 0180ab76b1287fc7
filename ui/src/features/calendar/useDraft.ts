import { type RefObject, useEffect, useRef, useState } from "react";
import type { Shown } from "../../planner/shown";
import { isSame } from "./moves";

/** Arrows in a row are one change, which is made once they rest for so long. */
const REST_MS = 600;

/**
 * The event that is being moved, where it would be. By keys it keeps the focus, and is put down as soon as
 * the keys rest.
 */
export function useDraft(
  part: RefObject<HTMLElement | null>,
  place: (from: Shown, to: Shown) => Promise<void>,
) {
  const [draft, setDraft] = useState<Shown | null>(null);
  const nudging = useRef<{ from: Shown; timer: number }>(undefined);
  const put = async (from: Shown, to: Shown) => {
    if (!isSame(from, to)) await place(from, to);
    setDraft(null);
  };
  const nudge = (now: Shown, to: Shown) => {
    const from = nudging.current?.from ?? now;
    clearTimeout(nudging.current?.timer);
    setDraft(to);
    const settle = () => {
      nudging.current = undefined;
      void put(from, to);
    };
    nudging.current = { from, timer: window.setTimeout(settle, REST_MS) };
  };
  const moving = nudging.current && draft;
  useEffect(() => {
    // It stands in another day now: there it is another element.
    const id = moving?.event.id;
    if (id) part.current?.querySelector<HTMLElement>(`[data-event="${CSS.escape(id)}"]`)?.focus();
  }, [moving, part]);
  return { draft, setDraft, put, nudge };
}
