// Going back to a page finds it as it was left: scrolled there, with the focus on what led away.
import type { Entry, Router } from "../services/router";

/** How long what is scrolled may take to be there. */
const FOR_MS = 2000;

type Place = { scrolled: readonly number[]; focused: string | null };

/** What scrolls in a room; the messages of a conversation keep their own place. */
const parts = () => [...document.querySelectorAll<HTMLElement>("#main .scroll:not([data-stream])")];

function nameOf(element: Element | null): string | null {
  const href = element?.closest("#main") && element.getAttribute("href");
  if (href) return `#main a[href=${CSS.escape(href)}]`;
  return element?.id ? `#${CSS.escape(element.id)}` : null;
}

export function keepPlace(router: Router): void {
  const places = new Map<number, Place>();
  let stop = () => {};
  const leave = ({ from }: Entry) => {
    stop();
    const scrolled = parts().map((part) => part.scrollTop);
    places.set(from, { scrolled, focused: nameOf(document.activeElement) });
  };
  const arrive = ({ at, isBack }: Entry) => {
    const place = isBack ? places.get(at) : undefined;
    if (place) stop = restore(place);
  };
  router.leaving.hear(leave);
  router.arrived.hear(arrive);
}

/** Sets it as soon as it is there, until somebody scrolls or presses something; gives what gives up. */
function restore({ scrolled, focused }: Place): () => void {
  const until = performance.now() + FOR_MS;
  const left = new Set(scrolled.flatMap((top, i) => (top > 0 ? [i] : [])));
  let isFocused = !focused;
  let frame = 0;
  const stop = () => {
    cancelAnimationFrame(frame);
    for (const kind of ["wheel", "touchstart", "keydown", "pointerdown"]) {
      removeEventListener(kind, stop, true);
    }
  };
  const step = () => {
    const all = parts();
    for (const i of left) {
      const part = all[i];
      const top = scrolled[i] ?? 0;
      if (!part || part.scrollHeight - part.clientHeight < top) continue;
      part.scrollTop = top;
      left.delete(i);
    }
    if (!isFocused && focused && document.activeElement?.matches("body, main")) {
      const element = document.querySelector<HTMLElement>(focused);
      element?.focus({ preventScroll: true });
      isFocused = element !== null;
    }
    if ((left.size || !isFocused) && performance.now() < until) frame = requestAnimationFrame(step);
    else stop();
  };
  for (const kind of ["wheel", "touchstart", "keydown", "pointerdown"]) {
    addEventListener(kind, stop, true);
  }
  frame = requestAnimationFrame(step);
  return stop;
}
