// Writes the fonts of the page, cut to the letters of European languages written in Latin, into src/styles/fonts.
// The files are committed; this runs when a font or its letters change: `npm install --no-save subset-font && node scripts/fonts.mjs`
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const subset = createRequire(import.meta.url)("subset-font");
const BUDGET_KB = 120;
const range = (from, to) =>
  Array.from({ length: to - from + 1 }, (_, at) => String.fromCodePoint(from + at)).join("");
/** What fontsource calls latin, without what nobody types: the first file that a page loads. */
const LATIN = `${range(0x20, 0x7e)}${range(0xa0, 0xff)}ıŒœˆ˚˜${range(0x2010, 0x2027)}\u202f‰′″‹›⁄€™←↑→↓−≈≠≤≥`;
/** Czech, Hungarian, Polish, Romanian, Turkish, …: loaded with the first such letter. */
const MORE = `${range(0x100, 0x17f)}ȘșȚțẞ`;
/** Figures of one width for tables and clocks; no ligatures: code is shown as it is. */
const FEATURES = ["kern", "mark", "mkmk", "ccmp", "locl", "tnum"];
const weights = { wght: { min: 400, max: 700 } };
const fonts = [
  ["inter", "inter", "normal", weights],
  ["literata", "literata", "normal", weights],
  ["literata-italic", "literata", "italic", { wght: 400 }],
  ["mono", "jetbrains-mono", "normal", { wght: 400 }],
];

const from = new URL("../node_modules/@fontsource-variable/", import.meta.url);
const to = new URL("../src/styles/fonts/", import.meta.url);
let total = 0;
for (const [name, family, style, variationAxes] of fonts) {
  for (const [part, letters, suffix] of [
    ["latin", LATIN, ""],
    ["latin-ext", MORE, "-more"],
  ]) {
    const source = readFileSync(
      new URL(`${family}/files/${family}-${part}-wght-${style}.woff2`, from),
    );
    const cut = await subset(source, letters, {
      targetFormat: "woff2",
      variationAxes,
      keepFeatures: FEATURES,
      noHinting: true,
    });
    writeFileSync(new URL(`${name}${suffix}.woff2`, to), cut);
    total += cut.length / 1000;
  }
}
console.log(`fonts: ${total.toFixed(1)} kB of ${BUDGET_KB} kB`);
if (total > BUDGET_KB) process.exit(1);
