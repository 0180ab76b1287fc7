import { useEffect, useState } from "react";
import { useMedia } from "../kit/pieces";
import type { Theme } from "./diagrams";

/** A colour of the page as Mermaid reads it. */
function hexOf(colour: string): string {
  const probe = document.createElement("i");
  probe.style.setProperty("forced-color-adjust", "none");
  probe.style.color = colour;
  document.body.append(probe);
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  if (context) {
    context.fillStyle = getComputedStyle(probe).color;
    context.fillRect(0, 0, 1, 1);
  }
  probe.remove();
  const [red = 0, green = 0, blue = 0] = context?.getImageData(0, 0, 1, 1).data ?? [];
  return `#${[red, green, blue].map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** Colours of the system that tell parts apart. */
const SYSTEM = ["LinkText", "GrayText", "VisitedText", "CanvasText"];

const lightOf = (hex: string) => Number.parseInt(hex.slice(3, 5), 16);

function themeNow(isForced: boolean): Theme {
  const one = (own: string, system: string) => hexOf(isForced ? system : `var(--${own})`);
  const ink = one("ink", "CanvasText");
  const line = one("ink-3", "CanvasText");
  const paper = one("sheet", "Canvas");
  const soft = one("accent-soft", "Canvas");
  const note = one("ask-soft", "Canvas");
  const tones = [0, 1, 2, 3, 4, 5, 6, 7].map((n) =>
    one(`tone-${n}`, SYSTEM[n % SYSTEM.length] ?? "CanvasText"),
  );
  const slices = Object.fromEntries(tones.map((tone, i) => [`pie${i + 1}`, tone]));
  const scale = Object.fromEntries(tones.map((tone, i) => [`cScale${i}`, tone]));
  const labels = Object.fromEntries(tones.map((_, i) => [`cScaleLabel${i}`, paper]));
  const themeVariables = {
    fontFamily: "system-ui, sans-serif",
    fontSize: "15px",
    background: paper,
    mainBkg: soft,
    primaryColor: soft,
    primaryTextColor: ink,
    primaryBorderColor: line,
    secondaryColor: note,
    secondaryTextColor: ink,
    secondaryBorderColor: line,
    tertiaryColor: paper,
    tertiaryTextColor: ink,
    tertiaryBorderColor: line,
    lineColor: line,
    textColor: ink,
    titleColor: ink,
    nodeTextColor: ink,
    noteBkgColor: note,
    noteTextColor: ink,
    noteBorderColor: line,
    edgeLabelBackground: paper,
    clusterBkg: paper,
    clusterBorder: line,
    pieTitleTextColor: ink,
    pieLegendTextColor: ink,
    pieSectionTextColor: paper,
    pieOpacity: "1",
    pieStrokeColor: paper,
    pieOuterStrokeColor: line,
    ...slices,
    ...scale,
    ...labels,
  };
  return { darkMode: lightOf(paper) < lightOf(ink), themeVariables };
}

/** The colours of the page for diagrams; another object once they change. */
export function useDiagramTheme(): Theme {
  const isDark = useMedia("(prefers-color-scheme: dark)");
  const isForced = useMedia("(forced-colors: active)");
  const [theme, setTheme] = useState(() => themeNow(isForced));
  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours follow what the device likes
  useEffect(() => {
    const follow = () =>
      setTheme((old) => {
        const now = themeNow(isForced);
        return JSON.stringify(now) === JSON.stringify(old) ? old : now;
      });
    follow();
    const seen = new MutationObserver(follow);
    seen.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => seen.disconnect();
  }, [isDark, isForced]);
  return theme;
}
