// The keyboard is never nowhere: where what had the focus is gone, or can have it no more, the nearest part
// of the page that is left gets it. Whoever moved it, or left it by intent, is not followed.

/** What a person can be put at: what takes the focus by itself, and what has a name or is whole in itself. */
const PLACES = "[tabindex], [aria-label], [aria-labelledby], form, main";
const HEADING = ":scope > :is(h1, h2, h3), :scope > header :is(h1, h2, h3)";
const REACHED = "a[href], button:enabled, summary, [tabindex='0']";

const isLost = (element: Element) => !element.isConnected || element.matches(":disabled");

function pathOf(element: Element): Element[] {
  const path: Element[] = [];
  for (let each = element.parentElement; each; each = each.parentElement) path.push(each);
  return path;
}

/** Where in a part one is put; in an item of a list, at what stands there now. */
function placeIn(part: Element): Element | null {
  if (!part.hasChildNodes()) return null;
  if (part.matches("li")) return part.querySelector(REACHED);
  return part.matches(PLACES) ? part : part.querySelector(HEADING);
}

/** True where it has the focus then. Nothing scrolls. */
export function putAt(place: Element | null): boolean {
  if (!(place instanceof HTMLElement)) return false;
  if (place.tabIndex < 0) place.tabIndex = -1;
  place.focus({ preventScroll: true });
  return document.activeElement === place;
}

export function keepFocus(): void {
  let last: Element | null = null;
  /** What `last` stood in: what is gone tells nothing of it any more. */
  let path: Element[] = [];
  /** What can have the focus no more for now, and where it is meanwhile. */
  let away: { from: Element; at: Element | null } | null = null;
  let isLooking = false;

  const look = () => {
    isLooking = false;
    if (!last || !isLost(last) || document.activeElement !== document.body) return;
    const from = last;
    const parts = [...path, document.getElementById("main")];
    parts.some((part) => part?.isConnected && putAt(placeIn(part)));
    away = from.isConnected ? { from, at: document.activeElement } : null;
  };
  const changed = () => {
    if (away && !isLost(away.from)) {
      const { from, at } = away;
      away = null;
      if (document.activeElement === at) (from as HTMLElement).focus({ preventScroll: true });
    }
    if (isLooking || !last || !isLost(last)) return;
    isLooking = true;
    // Whatever moves it by intent does so within a frame.
    requestAnimationFrame(() => requestAnimationFrame(look));
  };
  document.addEventListener("focusin", ({ target }) => {
    if (target !== away?.at) away = null;
    last = target as Element;
    path = pathOf(last);
  });
  document.addEventListener("focusout", ({ target }) =>
    queueMicrotask(() => {
      const isLeft = last === target && document.activeElement !== target;
      if (last && isLeft && !isLost(last)) last = null;
    }),
  );
  new MutationObserver(changed).observe(document.body, {
    subtree: true,
    childList: true,
    attributeFilter: ["disabled"],
  });
}
