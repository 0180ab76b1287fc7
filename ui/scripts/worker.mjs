// Writes the page's worker into the build, with the files that it keeps from the start: the shell, and every room
// with what it needs to be opened. What is large and rarely needed is kept once it was used.
import { createHash } from "node:crypto";
import { readFileSync, statSync, writeFileSync } from "node:fs";

const LARGEST_BYTES = 250_000;
const out = new URL("../../src/bethink/static/", import.meta.url);
const manifest = JSON.parse(readFileSync(new URL(".vite/manifest.json", out), "utf8"));
const FIXED = ["theme.js", "icon.svg", "manifest.webmanifest"];

const chunks = Object.values(manifest).flatMap(({ file, css = [], assets = [] }) => [
  file,
  ...css,
  ...assets,
]);
const isSmall = (file) => statSync(new URL(file, out)).size <= LARGEST_BYTES;
const isWanted = (file) => /\.(js|css)$/.test(file) || /\/inter-[^/]*\.woff2$/.test(file);
const assets = [...new Set(chunks)].filter((file) => isWanted(file) && isSmall(file)).sort();
const files = ["/", ...[...FIXED, ...assets].map((file) => `/${file}`)];
const hash = createHash("sha256");
for (const file of files)
  hash.update(readFileSync(new URL(file === "/" ? "index.html" : `.${file}`, out)));
const build = { version: hash.digest("hex").slice(0, 12), files };
const source = readFileSync(new URL("../worker/worker.js", import.meta.url), "utf8");
const BLANK = 'const BUILD = { version: "", files: [] };';
if (!source.includes(BLANK)) throw new Error("worker/worker.js has no place for the build");
writeFileSync(
  new URL("worker.js", out),
  source.replace(BLANK, `const BUILD = ${JSON.stringify(build)};`),
);
const kb =
  files.slice(1).reduce((sum, file) => sum + statSync(new URL(`.${file}`, out)).size, 0) / 1000;
console.log(`worker: ${files.length} files, ${Math.round(kb)} kB, kept for use without a server`);
