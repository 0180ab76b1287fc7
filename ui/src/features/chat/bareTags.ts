// HTML of a tool's, reduced to tags without attributes before it is parsed. Parsing runs none of it, but the
// browser logs each style and handler that the page's policy refuses, and a pandas table has one in every row.

/** Past the `>` of the tag that begins at `start`, whatever its quoted values hold. */
function endOfTag(html: string, start: number): number {
  let quote = "";
  for (let i = start; i < html.length; i += 1) {
    const character = html.charAt(i);
    if (quote) quote = character === quote ? "" : quote;
    else if (character === '"' || character === "'") quote = character;
    else if (character === ">") return i + 1;
  }
  return html.length;
}

const NAME = /^<(\/?[a-z][a-z0-9-]{0,30})/i;
const SPAN = /\s(?:col|row)span\s*=\s*["']?\d{1,4}["']?/gi;
/** Room for a tag's name, and for the attributes among which a span is looked for. */
const NAME_CHARS = 40;
const TAG_CHARS = 1000;
/** Their content is no text of the page. */
const SILENT = ["style", "script", "head", "template"];

/** The same with no attributes but `colspan` and `rowspan`, and without styles, scripts and comments. */
export function bareTags(html: string): string {
  const lower = html.toLowerCase();
  const past = (mark: string, from: number) => {
    const found = lower.indexOf(mark, from);
    return found < 0 ? html.length : endOfTag(html, found);
  };
  const kept: string[] = [];
  for (let at = 0; at < html.length; ) {
    const open = html.indexOf("<", at);
    kept.push(html.slice(at, open < 0 ? html.length : open));
    if (open < 0) break;
    const name = NAME.exec(html.slice(open, open + NAME_CHARS))?.[1];
    if (html.startsWith("<!--", open)) at = past("-->", open);
    else if (!name) {
      kept.push("&lt;");
      at = open + 1;
    } else {
      at = endOfTag(html, open);
      if (SILENT.includes(name.toLowerCase())) at = past(`</${name.toLowerCase()}`, at);
      else {
        const spans = html.slice(open, Math.min(at, open + TAG_CHARS)).match(SPAN) ?? [];
        kept.push(`<${name}${spans.join("")}>`);
      }
    }
  }
  return kept.join("");
}
