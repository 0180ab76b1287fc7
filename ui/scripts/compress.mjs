// Compresses what was built, once, so that serving it costs no time: Brotli for browsers, gzip for the rest.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const TEXTS = /\.(css|html|js|json|svg|txt|webmanifest)$/;
const WORTH_BYTES = 1000;
const out = new URL("../../src/bethink/static/", import.meta.url).pathname;

for (const name of readdirSync(out, { recursive: true })) {
  const path = join(out, name);
  if (!TEXTS.test(name) || name.startsWith(".") || statSync(path).size < WORTH_BYTES) continue;
  const plain = readFileSync(path);
  const params = { [constants.BROTLI_PARAM_SIZE_HINT]: plain.length };
  writeFileSync(`${path}.br`, brotliCompressSync(plain, { params }));
  writeFileSync(`${path}.gz`, gzipSync(plain, { level: 9 }));
}
