// Compresses what was built, once, so that serving it costs no time: Brotli for browsers, gzip for the rest.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const TEXTS = /\.(css|html|js|json|svg|txt|webmanifest)$/;
const WORTH_BYTES = 1000;
// Brotli's best costs a newcomer's first start twice the time of the second best, for 2 % less; of the two
// large files, which few pages load, half of all the time for 9 %.
const QUALITY = 10;
const LARGE_BYTES = 1_000_000;
const QUALITY_OF_LARGE = 9;
const out = new URL("../../src/bethink/static/", import.meta.url).pathname;

for (const name of readdirSync(out, { recursive: true })) {
  const path = join(out, name);
  if (!TEXTS.test(name) || name.startsWith(".") || statSync(path).size < WORTH_BYTES) continue;
  const plain = readFileSync(path);
  const params = {
    [constants.BROTLI_PARAM_SIZE_HINT]: plain.length,
    [constants.BROTLI_PARAM_QUALITY]: plain.length > LARGE_BYTES ? QUALITY_OF_LARGE : QUALITY,
  };
  writeFileSync(`${path}.br`, brotliCompressSync(plain, { params }));
  writeFileSync(`${path}.gz`, gzipSync(plain, { level: 9 }));
}
