// Colours code away from the page: a program of any length never holds it up.
import type { Root, RootContent } from "hast";
import dart from "highlight.js/lib/languages/dart";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import elixir from "highlight.js/lib/languages/elixir";
import haskell from "highlight.js/lib/languages/haskell";
import latex from "highlight.js/lib/languages/latex";
import nginx from "highlight.js/lib/languages/nginx";
import powershell from "highlight.js/lib/languages/powershell";
import scala from "highlight.js/lib/languages/scala";
import { common, createLowlight } from "lowlight";
import type { Colour, Coloured, ToColour } from "./colours";

const lowlight = createLowlight({
  ...common,
  dart,
  dockerfile,
  elixir,
  haskell,
  latex,
  nginx,
  powershell,
  scala,
});
lowlight.registerAlias({ ini: ["toml"], javascript: ["jsx", "mjs"], typescript: ["tsx"] });

/** What highlight.js calls a piece, and the colour that it has here. */
const colours: Record<string, Colour> = {
  addition: "added",
  attr: "name",
  attribute: "name",
  built_in: "type",
  bullet: "keyword",
  class: "type",
  code: "string",
  comment: "note",
  deletion: "removed",
  doctag: "note",
  formula: "string",
  keyword: "keyword",
  link: "string",
  literal: "number",
  meta: "note",
  name: "keyword",
  number: "number",
  operator: "keyword",
  property: "name",
  quote: "note",
  regexp: "string",
  section: "name",
  "selector-attr": "type",
  "selector-class": "type",
  "selector-id": "type",
  "selector-pseudo": "type",
  "selector-tag": "keyword",
  string: "string",
  symbol: "number",
  tag: "keyword",
  "template-tag": "keyword",
  "template-variable": "name",
  title: "name",
  type: "type",
  variable: "name",
};

function colourOf(node: RootContent): Colour | undefined {
  if (node.type !== "element") return undefined;
  const [name] = Array.isArray(node.properties.className) ? node.properties.className : [];
  return colours[String(name ?? "").replace("hljs-", "")];
}

/** Runs of one colour in their order. */
function flat(nodes: readonly RootContent[], colour: Colour, into: Coloured): Coloured {
  for (const node of nodes) {
    if (node.type === "text") {
      const last = into.at(-1);
      if (last?.[1] === colour) into[into.length - 1] = [last[0] + node.value, colour];
      else into.push([node.value, colour]);
    } else if (node.type === "element") flat(node.children, colourOf(node) ?? colour, into);
  }
  return into;
}

/** The runs cut where each chunk of lines ends. */
function chunks(runs: Coloured, lines: number): Coloured[] {
  const found: Coloured[] = [[]];
  let count = 0;
  for (const [text, colour] of runs) {
    let begin = 0;
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
      count += 1;
      if (count % lines) continue;
      found.at(-1)?.push([text.slice(begin, at + 1), colour]);
      found.push([]);
      begin = at + 1;
    }
    if (begin < text.length) found.at(-1)?.push([text.slice(begin), colour]);
  }
  return found;
}

addEventListener("message", ({ data }: MessageEvent<ToColour>) => {
  const { id, language, text, lines, from } = data;
  const name = language.toLowerCase();
  if (!lowlight.registered(name)) {
    postMessage({ id, chunks: null });
    return;
  }
  const tree: Root = lowlight.highlight(name, text);
  const runs = flat(tree.children as RootContent[], "", []);
  postMessage({ id, chunks: chunks(runs, lines).slice(from) });
});
