// The promise of the palette: text reads at 7:1, notes and states at 4.5:1, light and dark.
// Sources: OKLCH to sRGB, https://bottosson.github.io/posts/oklab/; contrast, WCAG 2.2 §1.4.3.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const css = readFileSync(new URL("./tokens.css", import.meta.url), "utf8");
type Colour = [lightness: number, chroma: number, hue: number];

function token(name: string, theme: "light" | "dark"): Colour {
  const both = new RegExp(`--${name}: light-dark\\(oklch\\(([^)]+)\\), oklch\\(([^)]+)\\)\\)`).exec(
    css,
  );
  const text = both?.[theme === "light" ? 1 : 2];
  if (!text) throw new Error(`no token ${name}`);
  const [lightness = 0, chroma = 0, hue = 0] = text.split(" ").map(Number.parseFloat);
  return [lightness / 100, chroma, hue];
}

function luminance([lightness, chroma, hue]: Colour): number {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const clamp = (value: number) => Math.min(1, Math.max(0, value));
  const red = clamp(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s);
  const green = clamp(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s);
  const blue = clamp(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: Colour, other: Colour): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}

const papers = ["paper", "paper-2", "paper-3", "sheet"];
const pairs: [ink: string, papers: string[], least: number][] = [
  ["ink", [...papers, "accent-soft", "ask-soft", "fault-soft", "mark"], 7],
  ["ink-2", [...papers, "ask-soft", "fault-soft"], 7],
  ["ink-3", papers, 4.5],
  ["accent", [...papers, "accent-soft"], 4.5],
  ["ok", papers, 4.5],
  ["ask", [...papers, "ask-soft"], 4.5],
  ["fault", [...papers, "fault-soft"], 4.5],
  ["on-accent", ["accent"], 7],
  ["on-danger", ["danger"], 7],
  ["ink", ["code"], 7],
  ...["keyword", "string", "number", "name", "type", "note"].map(
    (kind): [string, string[], number] => [`code-${kind}`, ["code"], 4.5],
  ),
  ...[0, 1, 2, 3, 4, 5, 6, 7].map((n): [string, string[], number] => [`tone-${n}`, papers, 4.5]),
];

describe.each(["light", "dark"] as const)("in the %s theme", (theme) => {
  test.each(pairs)("%s reads on %j at %d:1", (ink, on, least) => {
    for (const paper of on) {
      expect(
        contrast(token(ink, theme), token(paper, theme)),
        `${ink} on ${paper}`,
      ).toBeGreaterThanOrEqual(least);
    }
  });
});
