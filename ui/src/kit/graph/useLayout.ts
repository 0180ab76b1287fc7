import { useEffect, useMemo, useState } from "react";
import { type Drawing, type Places, placed } from "./graphLayout";

/** So many are placed at once, within a few frames; more of them by a worker. */
const AT_ONCE = 400;

/** Where the nodes of a drawing stand; null until that is known. */
export function useLayout(drawing: Drawing): Places | null {
  const isLarge = drawing.spots.length > AT_ONCE;
  const small = useMemo(() => (isLarge ? null : placed(drawing)), [drawing, isLarge]);
  const [large, setLarge] = useState<{ of: Drawing; places: Places } | null>(null);
  useEffect(() => {
    if (!isLarge) return;
    const worker = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<Places>) => setLarge({ of: drawing, places: data });
    // Functions and the like never stand in a drawing, and the worker needs no names.
    const spots = drawing.spots.map(({ radius, distance }) => ({ radius, distance }));
    worker.postMessage({ spots, lines: drawing.lines });
    return () => worker.terminate();
  }, [drawing, isLarge]);
  return small ?? (large?.of === drawing ? large.places : null);
}
