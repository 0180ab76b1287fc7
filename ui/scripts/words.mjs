// Finds what the page does not say in German: sentences without a translation, sentences translated in two
// ways, and words in the code that do not pass `t`. Prints the counts and each finding, and fails if there are
// any; `--list` also prints translations that no code says as they stand (those of settings come from the server).
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { compileMessage } from "@lingui/message-utils/compileMessage";
import { parseSync } from "vite";

const source = new URL("../src/", import.meta.url).pathname;

/** Words that are the same in every language or that no person reads; by file, everywhere first. */
const EXCEPTIONS = {
  "": [
    "Bethink",
    "DIAL",
    "MCP",
    "{} · Bethink",
    "Bethink {}, {}",
    "ChatGPT",
    "Claude",
    "Notion",
    "Obsidian",
    "Markdown",
  ],
  // Languages by what they call themselves, and what the agent is told of them and of a tone.
  "i18n/index.ts": ["English", "Deutsch"],
  "features/settings/Preferences.tsx": [
    ...[
      "English",
      "Deutsch",
      "Français",
      "Español",
      "Italiano",
      "Português",
      "Polski",
      "Nederlands",
    ],
    ...["short and to the point", "warm and friendly"],
    ...["thorough, with reasons and examples", "formal and precise"],
  ],
  "features/settings/setup/AboutStep.tsx": ["User’s name is {}", "User lives in {}"],
  "features/memory/profileText.ts": ["Your", "You {}{}"],
  // What the model is told with a message.
  "run/named.ts": [
    ...["the collection “{}” (collection:{})", "the page “{}” of the vault (file_path: {})"],
    ...["\n\nAbout: ", "{}\n\nAbout: {}"],
  ],
  // Typed as it stands.
  "features/login/LoginPage.tsx": [
    "bethink users key add NAME",
    "bethink users list",
    "bethink users password NAME",
  ],
  "features/settings/BackupsPage.tsx": ["bethink restore {} --data-dir DIR"],
  "features/settings/PersonForm.tsx": ["bethink users key add NAME"],
  "features/settings/ServerFields.tsx": ["Authorization: Bearer …", "uvx mcp-server-time"],
  // Names of groups, which `groupName` translates.
  "planner/taskWords.ts": ["Overdue", "Today", "Next 7 days", "Later", "Without a date", "Done"],
  // Names of keys, of the browser and of libraries.
  "keys/bindings.ts": ["Ctrl", "Shift", "Alt", "Esc", "Enter"],
  "features/vault/editor/setup.ts": [
    "Mod-s",
    "Mod-b",
    "Mod-i",
    "Mod-e",
    "Mod-Shift-l",
    "Enter",
    "Backspace",
    "Tab",
  ],
  "features/tasks/Board.tsx": ["Arrow"],
  "kit/across.ts": ["ArrowLeft", "ArrowRight"],
  "features/vault/editor/livePreview.ts": ["Setext", "LinkMark", "Task", "callout cm-callout-{}"],
  "features/vault/editor/styleSheets.ts": ["@layer editor { {} }"],
  "answer/useDiagramTheme.ts": ["LinkText", "GrayText", "VisitedText", "CanvasText", "Canvas"],
  "answer/download.ts": ["Dockerfile"],
  "answer/diagrams.ts": ["Diagrams"],
  "api/upload.ts": ["Cancelled", "AbortError"],
  "kit/useFileDrop.ts": ["Files"],
  "features/artifacts/Frame.tsx": ['<!doctype html><meta charset="utf-8">'],
  "features/chat/voice/useDictation.ts": ["NotAllowedError", "NotFoundError"],
  "services/account.ts": ["signed in"],
  "features/chat/list/rows.ts": ["pinned first"],
};
/** Where a sentence comes from the server or a list, and its German is looked for at run time. */
const LOOKED_UP = ["features/settings/words.tsx"];

/** A capital with small letters, or two words beside each other. */
const WORDS = /^[^a-z]*[A-Z][a-z]+|[a-z]{2,} [a-z]{2,}/;
/** Attributes that are neither shown nor read out. */
const TECHNICAL =
  /^(class|className|id|to|href|type|role|style|key|d|rel|viewBox|accept|pattern|aria-keyshortcuts)$|ClassName$/;
/** Errors that only programmers see. */
const isThrownBare = ({ type, callee }) => type === "NewExpression" && callee.name === "Error";

const findings = [];
const said = new Set();

/** What a sentence fills in. */
function filledIn(sentence) {
  const names = new Set();
  const look = (parts) => {
    for (const part of Array.isArray(parts) ? parts : []) {
      if (!Array.isArray(part)) continue;
      names.add(part[0]);
      for (const form of Object.values(part[2] ?? {})) look(form);
    }
  };
  look(compileMessage(sentence));
  return [...names].sort().join();
}

function german() {
  const found = new Map();
  for (const name of readdirSync(join(source, "i18n/de")).filter((each) =>
    each.endsWith(".json"),
  )) {
    const words = JSON.parse(readFileSync(join(source, "i18n/de", name), "utf8"));
    for (const [key, translated] of Object.entries(words)) {
      const other = found.get(key);
      if (other && other !== translated)
        findings.push(`said in two ways  ${key}: ${other} | ${translated} (${name})`);
      if (filledIn(key) !== filledIn(translated))
        findings.push(`fills in other things  ${key} (${name})`);
      found.set(key, translated);
    }
  }
  return found;
}

/** The words of a node that holds some, with `{}` for what is filled in; null for all others. */
function wordsOf(node) {
  if (node.type === "JSXText") return /[A-Za-z]{2}/.test(node.value) ? node.value.trim() : null;
  const text =
    node.type === "TemplateLiteral"
      ? node.quasis.map(({ value }) => value.cooked).join("{}")
      : node.type === "Literal" && node.value;
  return typeof text === "string" && WORDS.test(text) ? text : null;
}

/** The parts of a node in which words may stand that people read. */
function partsOf(node) {
  const { type } = node;
  if (type === "ImportDeclaration" || type === "ImportExpression" || isThrownBare(node)) return [];
  if (type.startsWith("TS") && !node.expression) return [];
  if (type === "JSXAttribute") return TECHNICAL.test(node.name.name) ? [] : [node.value];
  if (type === "SwitchCase") return node.consequent;
  if (type === "MemberExpression") return [node.object];
  if (type === "Property") return [node.computed ? node.key : null, node.value];
  if (type === "BinaryExpression" && node.operator !== "+")
    return [node.left, node.right].filter((each) => each.type !== "Literal");
  return Object.values(node).flat();
}

function readFile(name, known) {
  const text = readFileSync(join(source, name), "utf8");
  const { program } = parseSync(name, text, { lang: name.endsWith("x") ? "tsx" : "ts" });
  const excepted = new Set([...EXCEPTIONS[""], ...(EXCEPTIONS[name] ?? [])]);
  const sentence = (node) => {
    const key = node?.type === "TemplateLiteral" ? node.quasis[0]?.value.cooked : node?.value;
    if (typeof key !== "string" || node.expressions?.length) {
      if (!LOOKED_UP.includes(name))
        findings.push(`not a sentence  ${name}: ${text.slice(node.start, node.end)}`);
      return;
    }
    said.add(key);
    if (!known.has(key)) findings.push(`no German  ${name}: ${key}`);
  };
  const look = (node) => {
    if (typeof node?.type !== "string") return;
    if (node.type === "CallExpression" && node.callee.name === "t") {
      sentence(node.arguments[0]);
      for (const each of node.arguments.slice(1)) look(each);
      return;
    }
    const words = wordsOf(node);
    if (words !== null && !excepted.has(words)) findings.push(`not said by t  ${name}: ${words}`);
    for (const part of partsOf(node)) look(part);
  };
  look(program);
}

const known = german();
for (const name of readdirSync(source, { recursive: true }))
  if (/\.tsx?$/.test(name) && !/\.test\.tsx?$|^contract\//.test(name)) readFile(name, known);
for (const each of findings) console.error(each);
if (process.argv.includes("--list"))
  for (const key of known.keys()) if (!said.has(key)) console.log(`never said  ${key}`);
console.log(`words: ${said.size} sentences, ${findings.length} not right in German`);
if (findings.length) process.exit(1);
