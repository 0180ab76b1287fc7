// Moves and zooms a graph: by pointer, by two fingers, by wheel.
import {
  type PointerEvent,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import type { Places } from "./graphLayout";
import { fitted, type Size, showing, type View, zoomed } from "./view";

/** So far a pointer moves before it means to move the graph, and not to click. */
const CLICK_PX = 4;
const WHEEL_FACTOR = 1.0015;
const WHEEL_LINE_PX = 16;

type Point = { x: number; y: number };
const between = ([a, b]: readonly Point[]): Point & { far: number } => {
  const [one = { x: 0, y: 0 }, other = one] = [a, b];
  const far = Math.hypot(one.x - other.x, one.y - other.y);
  return { x: (one.x + other.x) / 2, y: (one.y + other.y) / 2, far };
};

function useSize(box: RefObject<HTMLElement | null>): Size {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () => setSize({ width: element.clientWidth, height: element.clientHeight });
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    return () => watch.disconnect();
  }, [box]);
  return size;
}

/** All of it is in view until somebody moves it. */
export function useView(
  box: RefObject<HTMLElement | null>,
  places: Places | null,
  isCentred: boolean,
) {
  const size = useSize(box);
  const [moved, setMoved] = useState<{ of: Places; view: View } | null>(null);
  const whole = places && size.width ? fitted(places, size, isCentred) : null;
  const view = moved && moved.of === places ? moved.view : whole;
  const now = useRef(view);
  now.current = view;
  const move = (from: (view: View) => View) => {
    if (!places || !now.current) return;
    now.current = from(now.current);
    setMoved({ of: places, view: now.current });
  };
  const moving = useRef(move);
  moving.current = move;
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    // React's own are passive: the page would scroll, too.
    const turn = (event: WheelEvent) => {
      event.preventDefault();
      const { left, top } = element.getBoundingClientRect();
      const at = { x: event.clientX - left, y: event.clientY - top };
      const turned = event.deltaY * (event.deltaMode ? WHEEL_LINE_PX : 1) * (event.ctrlKey ? 5 : 1);
      moving.current((view) => zoomed(view, WHEEL_FACTOR ** -turned, at));
    };
    element.addEventListener("wheel", turn, { passive: false });
    return () => element.removeEventListener("wheel", turn);
  }, [box]);
  const fingers = useRef(new Map<number, Point>());
  const travelled = useRef(0);
  const pointers = {
    onPointerDown: ({ pointerId, button, clientX, clientY }: PointerEvent<HTMLElement>) => {
      if (button !== 0) return;
      if (!fingers.current.size) travelled.current = 0;
      fingers.current.set(pointerId, { x: clientX, y: clientY });
    },
    onPointerMove: ({ pointerId, clientX, clientY, currentTarget }: PointerEvent<HTMLElement>) => {
      if (!fingers.current.has(pointerId)) return;
      const before = between([...fingers.current.values()]);
      fingers.current.set(pointerId, { x: clientX, y: clientY });
      const after = between([...fingers.current.values()]);
      const [x, y] = [after.x - before.x, after.y - before.y];
      travelled.current += Math.hypot(x, y) + Math.abs(after.far - before.far);
      if (travelled.current < CLICK_PX) return;
      // From here on the pointer is the graph's, wherever it goes.
      if (!currentTarget.hasPointerCapture(pointerId)) currentTarget.setPointerCapture(pointerId);
      const { left, top } = currentTarget.getBoundingClientRect();
      const at = { x: after.x - left, y: after.y - top };
      const factor = before.far && after.far ? after.far / before.far : 1;
      move((view) => zoomed({ ...view, x: view.x + x, y: view.y + y }, factor, at));
    },
    onPointerUp: ({ pointerId }: PointerEvent<HTMLElement>) =>
      void fingers.current.delete(pointerId),
    onPointerCancel: ({ pointerId }: PointerEvent<HTMLElement>) =>
      void fingers.current.delete(pointerId),
  };
  return {
    view,
    size,
    pointers,
    /** True while the pointer that was let go of last had moved the graph. */
    wasMoved: () => travelled.current >= CLICK_PX,
    zoom: (factor: number) =>
      move((view) => zoomed(view, factor, { x: size.width / 2, y: size.height / 2 })),
    show: (place: Point) => move((view) => showing(view, place, size)),
    showAll: () => setMoved(null),
  };
}
