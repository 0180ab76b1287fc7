import { type RefObject, useEffect, useState } from "react";
import type { Palette } from "./paint";

const TONES = 8;
const queries = ["(prefers-color-scheme: dark)", "(forced-colors: active)"];

/** Counts how often the colours of the page have changed, and its fonts have come. */
function useLookChanges(): number {
  const [changes, setChanges] = useState(0);
  useEffect(() => {
    const change = () => setChanges((now) => now + 1);
    const watch = new MutationObserver(change);
    watch.observe(document.documentElement, { attributeFilter: ["data-theme", "class", "style"] });
    const lists = queries.map((query) => matchMedia(query));
    for (const list of lists) list.addEventListener("change", change);
    document.fonts.addEventListener("loadingdone", change);
    return () => {
      watch.disconnect();
      for (const list of lists) list.removeEventListener("change", change);
      document.fonts.removeEventListener("loadingdone", change);
    };
  }, []);
  return changes;
}

/** The colours that the stylesheet gives a row of samples, since a canvas knows no custom properties. */
export function usePalette(samples: RefObject<HTMLElement | null>): Palette | null {
  const changes = useLookChanges();
  const [palette, setPalette] = useState<Palette | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: read anew whenever the look has changed
  useEffect(() => {
    const row = samples.current;
    if (!row) return;
    const colors = [...row.children].map((sample) => getComputedStyle(sample).color);
    const [ink = "", paper = "", line = "", plain = "", accent = "", lost = "", ...tones] = colors;
    const font = getComputedStyle(row).fontFamily;
    setPalette({ ink, paper, line, plain, accent, lost, tones: tones.slice(0, TONES), font });
  }, [samples, changes]);
  return palette;
}
