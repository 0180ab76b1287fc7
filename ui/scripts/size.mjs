// The interface must stay light: fails the build when what a first visit loads outgrows its budget.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const BUDGET_KB = 200;
const out = new URL("../../src/bethink/static/", import.meta.url);
const manifest = JSON.parse(readFileSync(new URL(".vite/manifest.json", out), "utf8"));

function staticFiles(key, seen) {
  if (seen.has(key)) return seen;
  seen.add(key);
  for (const next of manifest[key].imports ?? []) staticFiles(next, seen);
  return seen;
}

const kb = (file) => gzipSync(readFileSync(new URL(file, out))).length / 1000;
const first = [...staticFiles("index.html", new Set())].map((key) => manifest[key].file);
const total = first.reduce((sum, file) => sum + kb(file), 0);
console.log(`interface: ${total.toFixed(1)} kB gzip of ${BUDGET_KB} kB before lazy parts`);
if (total > BUDGET_KB) {
  console.error("Over the budget: load a part lazily, or drop a dependency.");
  process.exit(1);
}
