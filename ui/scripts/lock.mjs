// Completes package-lock.json with the packages of other platforms. npm leaves out those that the
// registry at hand does not offer, and `npm ci` then refuses the lock on every platform.
import { readFileSync, writeFileSync } from "node:fs";

const path = new URL("../package-lock.json", import.meta.url);
const lock = JSON.parse(readFileSync(path, "utf8"));
const systems = [
  "aix",
  "android",
  "darwin",
  "freebsd",
  "linux",
  "netbsd",
  "openbsd",
  "openharmony",
  "sunos",
  "win32",
];
const processors = [
  "arm64",
  "arm",
  "ia32",
  "loong64",
  "mips64el",
  "ppc64",
  "riscv64",
  "s390x",
  "wasm32",
  "x64",
];

/** What a platform's package says of itself, read from its name: `@x/cli-linux-arm64-musl`. */
function platform(name) {
  const words = name.split(/[-/]/);
  const os =
    systems.find((system) => words.includes(system)) ??
    (name === "fsevents" ? "darwin" : undefined);
  const cpu = processors.find((processor) => words.includes(processor));
  const libc = words.some((word) => word.startsWith("musl")) ? "musl" : undefined;
  const glibc =
    os === "linux" && words.some((word) => word.startsWith("gnu")) ? "glibc" : undefined;
  const one = (key, value) => (value ? { [key]: [value] } : {});
  return { ...one("cpu", cpu), ...one("libc", libc ?? glibc), ...one("os", os) };
}

const exact = (range) => /\d+\.\d+\.\d+\S*/.exec(range)?.[0];
// pdf.js runs in browsers alone here: it needs no version of Node.js, and no canvas for it of 35 MB.
delete lock.packages["node_modules/pdfjs-dist"]?.engines;
delete lock.packages["node_modules/pdfjs-dist"]?.optionalDependencies;
for (const key of Object.keys(lock.packages)) {
  if (key.startsWith("node_modules/@napi-rs/canvas")) delete lock.packages[key];
}

let added = 0;
for (const entry of Object.values(lock.packages)) {
  for (const [name, range] of Object.entries(entry.optionalDependencies ?? {})) {
    const key = `node_modules/${name}`;
    if (lock.packages[key]) continue;
    lock.packages[key] = { version: exact(range), ...platform(name), dev: true, optional: true };
    added += 1;
  }
}
lock.packages = Object.fromEntries(
  Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)),
);
writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`${added} packages of other platforms added to the lock`);
