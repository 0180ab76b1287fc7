// Finds sentences that the page does not say in German, and words in the code that are said in English alone.
// `node scripts/words.mjs` prints both as counts, with `--list` all of them; `--check` fails if there are any.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const source = new URL("../src/", import.meta.url).pathname;
const files = readdirSync(source, { recursive: true })
  .filter((name) => /\.tsx?$/.test(name) && !/\.test\.ts$|^contract\//.test(name))
  .map((name) => join(source, name));
const german = new Map();
const twice = [];
for (const name of readdirSync(join(source, "i18n/de"))) {
  if (!name.endsWith(".json")) continue;
  for (const [key, words] of Object.entries(
    JSON.parse(readFileSync(join(source, "i18n/de", name), "utf8")),
  )) {
    if (german.has(key) && german.get(key) !== words) twice.push(key);
    german.set(key, words);
  }
}

/** Each sentence that is given to `t` as it stands. */
const SAID = /\bt\(\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|`([^`$]*)`)/g;
/** Words between tags, and in attributes that are shown or read out. */
const BETWEEN = /(?<![=-])>\s*([A-Z][^<>{}=;]*[a-z][^<>{}=;]*?)\s*(?=<\/|\{|<[A-Za-z])/g;
const ATTRIBUTE =
  /\b(?:label|title|placeholder|hint|aria-label|alt|name|action|detail|words|listLabel|sideLabel)(?:=|: )"([A-Z][^"]*[a-z][^"]*)"/g;

const missing = new Map();
const literal = [];
const used = new Set();
for (const file of files) {
  const text = readFileSync(file, "utf8");
  const short = file.slice(source.length);
  for (const [, double, single, back] of text.matchAll(SAID)) {
    const key = double !== undefined ? JSON.parse(`"${double}"`) : (single ?? back);
    used.add(key);
    if (!german.has(key)) missing.set(key, short);
  }
  if (!file.endsWith(".tsx") && !/services|planner|answer|features|kit/.test(short)) continue;
  const code = text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
  if (file.endsWith(".tsx"))
    for (const [, words] of code.matchAll(BETWEEN)) literal.push(`${short}: ${words.trim()}`);
  for (const [, words] of code.matchAll(ATTRIBUTE)) literal.push(`${short}: ${words}`);
}
const unused = [...german.keys()].filter((key) => !used.has(key));
if (process.argv.includes("--list")) {
  for (const [key, file] of missing) console.log(`no German  ${file}: ${key}`);
  for (const each of literal) console.log(`not said by t  ${each}`);
  for (const each of unused) console.log(`never said  ${each}`);
}
console.log(
  `words: ${used.size} sentences, ${missing.size} not in German, ${literal.length} in English alone, ` +
    `${unused.length} never said, ${twice.length} said in two ways`,
);
if (process.argv.includes("--check") && (missing.size || literal.length || twice.length))
  process.exit(1);
