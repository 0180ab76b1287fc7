// One tip for the whole page: whatever has `data-tip` shows it when the pointer rests on it or the keyboard reaches it.
// `data-combo` adds a shortcut. It repeats or explains a name; nothing is said in a tip alone.
import { lazy, Suspense, useEffect, useState } from "react";

const Tip = lazy(() => import("./Tip"));
const REST_MS = 500;
const LEAVE_MS = 80;

export function Tips() {
  const [at, setAt] = useState<HTMLElement | null>(null);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const later = (element: HTMLElement | null, ms: number) => {
      clearTimeout(timer);
      timer = setTimeout(() => setAt(element), ms);
    };
    const ofTip = (target: EventTarget | null) =>
      target instanceof Element ? target.closest<HTMLElement>("[data-tip]") : null;
    let hovered: HTMLElement | null = null;
    const over = (event: PointerEvent) => {
      if (event.pointerType === "touch") return;
      const element = ofTip(event.target);
      if (element === hovered) return;
      hovered = element;
      later(element, element ? REST_MS : LEAVE_MS);
    };
    const focus = ({ target }: FocusEvent) => {
      const element = ofTip(target);
      if (element?.matches(":focus-visible")) later(element, REST_MS);
    };
    const gone = () => {
      clearTimeout(timer);
      setAt(null);
    };
    const press = (event: KeyboardEvent) => event.key === "Escape" && gone();
    document.addEventListener("pointerover", over);
    document.addEventListener("focusin", focus);
    document.addEventListener("focusout", gone);
    document.addEventListener("pointerdown", gone, true);
    document.addEventListener("keydown", press, true);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("pointerover", over);
      document.removeEventListener("focusin", focus);
      document.removeEventListener("focusout", gone);
      document.removeEventListener("pointerdown", gone, true);
      document.removeEventListener("keydown", press, true);
    };
  }, []);
  // What it told of may be gone, or have opened what it names.
  if (!at?.isConnected || at.ariaExpanded === "true") return null;
  return (
    <Suspense fallback={null}>
      <Tip key={at.dataset.tip} at={at} />
    </Suspense>
  );
}
