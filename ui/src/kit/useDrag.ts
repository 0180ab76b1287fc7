// Something taken by the pointer, carried and put down: with a mouse or pen at once, with a finger after a
// moment of holding still, so that the page can still be scrolled. Escape puts it back.
import { type DragEvent, type PointerEvent, useEffect, useRef } from "react";

export type Point = { x: number; y: number };
type DragHooks<T> = {
  /** What is taken there; null if nothing is. */
  take: (event: PointerEvent<HTMLElement>) => T | null;
  /** It is carried: first told once it has left its place. */
  move: (taken: T, at: Point) => void;
  drop: (taken: T, at: Point) => void;
  /** It goes back; also told if nothing was carried. */
  leave: (taken: T) => void;
};

const AWAY_PX = 5;
const HOLD_MS = 350;
/** That near to the edge of what scrolls, it scrolls on. */
const EDGE_PX = 36;
const SCROLL_PX = 12;

function scrollOn(from: Element, { x, y }: Point): void {
  const part = from.closest(".scroll");
  if (!part) return;
  const box = part.getBoundingClientRect();
  if (y < box.top + EDGE_PX) part.scrollTop -= SCROLL_PX;
  if (y > box.bottom - EDGE_PX) part.scrollTop += SCROLL_PX;
  if (x < box.left + EDGE_PX) part.scrollLeft -= SCROLL_PX;
  if (x > box.right - EDGE_PX) part.scrollLeft += SCROLL_PX;
}

/** Gives what the element in which things are taken must hear. */
export function useDrag<T>(hooks: DragHooks<T>) {
  const latest = useRef(hooks);
  latest.current = hooks;
  const end = useRef<() => void>(undefined);
  useEffect(() => () => end.current?.(), []);
  const onPointerDown = (down: PointerEvent<HTMLElement>) => {
    if (down.button !== 0 || !down.isPrimary) return;
    const taken = latest.current.take(down);
    if (taken === null) return;
    end.current?.();
    const from = { x: down.clientX, y: down.clientY };
    const held = down.currentTarget;
    const { pointerId, pointerType } = down;
    const listening = new AbortController();
    const { signal } = listening;
    let isCarried = false;
    let mayLeave = pointerType !== "touch";
    const timer = setTimeout(() => {
      mayLeave = true;
      if (pointerType === "touch") begin(from);
    }, HOLD_MS);
    const stop = () => {
      clearTimeout(timer);
      listening.abort();
      end.current = undefined;
    };
    const back = () => {
      stop();
      latest.current.leave(taken);
    };
    const begin = (at: Point) => {
      isCarried = true;
      held.setPointerCapture(pointerId);
      latest.current.move(taken, at);
    };
    const carry = (event: globalThis.PointerEvent) => {
      if (event.pointerId !== pointerId) return;
      const at = { x: event.clientX, y: event.clientY };
      const isAway = Math.hypot(at.x - from.x, at.y - from.y) > AWAY_PX;
      if (!mayLeave && isAway) return back();
      if (!isCarried && isAway) begin(at);
      if (!isCarried) return;
      scrollOn(held, at);
      latest.current.move(taken, at);
    };
    const put = (event: globalThis.PointerEvent) => {
      if (event.pointerId !== pointerId) return;
      if (!isCarried) return back();
      stop();
      // The click that follows belongs to this, and opens nothing.
      const once = { capture: true, once: true };
      const swallow = (click: MouseEvent) => click.stopPropagation();
      addEventListener("click", swallow, once);
      setTimeout(() => removeEventListener("click", swallow, once));
      latest.current.drop(taken, { x: event.clientX, y: event.clientY });
    };
    const giveUp = (event: globalThis.KeyboardEvent) => {
      if (event.key !== "Escape" || !isCarried) return;
      event.stopPropagation();
      back();
    };
    const hold = (event: TouchEvent) => isCarried && event.preventDefault();
    addEventListener("pointermove", carry, { signal });
    addEventListener("pointerup", put, { signal });
    addEventListener("pointercancel", back, { signal });
    addEventListener("keydown", giveUp, { signal, capture: true });
    addEventListener("touchmove", hold, { signal, passive: false });
    end.current = back;
  };
  // The browser's own dragging of links would take the pointer away.
  const onDragStart = (event: DragEvent) => event.preventDefault();
  return { onPointerDown, onDragStart };
}
