// What pdf.js fetches while it draws, from its package into the build: fonts that files do not bring along,
// tables of characters, and the decoders of pictures that need no WebAssembly, which the page's policy forbids; and their
// licences, which go where they go.
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const root = dirname(createRequire(import.meta.url).resolve("pdfjs-dist/package.json"));
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const parts = {
  ".": /^LICENSE$/,
  cmaps: /\.bcmap$|^LICENSE/,
  // Without Liberation's fonts, which are under the GPL: the reader's own stand in for them.
  standard_fonts: /^Foxit.*\.pfb$|^LICENSE_FOXIT$/,
  wasm: /_nowasm_fallback\.js$|^LICENSE_(PDFJS_)?(JBIG2|OPENJPEG)$/,
};

/** Their address; what is kept for ever has its version in it. */
export const base = `/assets/pdfjs-${version}/`;

/** A plugin of Vite that puts them there. */
export const pdfAssets = () => ({
  name: "pdf-assets",
  apply: "build",
  generateBundle() {
    for (const [folder, wanted] of Object.entries(parts)) {
      for (const name of readdirSync(join(root, folder)).filter((each) => wanted.test(each))) {
        const source = readFileSync(join(root, folder, name));
        this.emitFile({ type: "asset", fileName: join(base.slice(1), folder, name), source });
      }
    }
  },
});
