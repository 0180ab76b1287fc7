// Cuts Markdown into blocks as it grows: what is closed is never read again, only the open end changes. Code and formulas that
// stand by themselves are blocks of their own kind, so that a long program is never parsed as Markdown at all.

export type Block =
  | { kind: "text"; text: string }
  | { kind: "code"; language: string; text: string; isOpen: boolean }
  | { kind: "formula"; text: string; isOpen: boolean };

type Verbatim = {
  kind: "code" | "formula";
  info: string;
  lines: string[];
  /** What its lines are indented by, like its fence. */
  indent: RegExp;
  closes: RegExp;
};

/** A fence is a block whatever stands above it, unless it is indented into a list. */
const CODE = /^( {0,3})(?:(`{3,})([^`]*)|(~{3,})(.*))$/;
const FORMULA = /^(\$\$|\\\[)[ \t]*$/;
const FENCE = /^\s*(`{3,}(?=[^`]*$)|~{3,})/;
const ITEM = /^ {0,3}(?:[-*+]|\d+[.)])(?:\s+|$)/;
/** What ends a list where it stands at the margin: a quote, a heading, a rule. */
const ENDS_LIST = /^(?:>|#{1,6}(?:\s|$)|([-*_])(?:[ \t]*\1){2,}[ \t]*$)/;
/** A line that may belong to what is above it, across an empty line: lists, quotes, indented text. */
const CONTINUES = /^(\s|[-*+>]|\d+[.)])/;
/** Definitions and footnotes reach over the whole text: then it is not cut. */
const REACHES_FAR = /^ {0,3}\[[^\]]+\]:/;
/** Of raw HTML nobody knows from a line alone where it ends. */
const HTML = /^ {0,3}<(?:!|\?|(?:script|pre|style|textarea)\b)/i;

const isBlank = (line: string) => line.trim() === "";

function verbatimIn(line: string): Verbatim | null {
  const code = CODE.exec(line);
  if (code) {
    const mark = code[2] ?? code[4] ?? "";
    const info = (code[3] ?? code[5] ?? "").trim();
    const closes = new RegExp(`^ {0,3}${mark[0]}{${mark.length},}[ \\t]*$`);
    const indent = new RegExp(`^ {0,${code[1]?.length ?? 0}}`);
    return { kind: "code", info, lines: [], indent, closes };
  }
  const formula = FORMULA.exec(line);
  if (!formula) return null;
  const closes = formula[1] === "$$" ? /^(.*)\$\$[ \t]*$/ : /^(.*)\\\][ \t]*$/;
  return { kind: "formula", info: "", lines: [], indent: /^/, closes };
}

function blockOf({ kind, info, lines }: Verbatim, isOpen: boolean): Block {
  const text = lines.join("\n");
  if (kind === "formula") return { kind, text, isOpen };
  return { kind, language: /^[^\s{]*/.exec(info)?.[0] ?? "", text, isOpen };
}

/** A link, or a picture, of which the address is not there as a whole yet. */
const OPEN_LINK = /!?\[([^[\]\n]*)\]\([^()\s]*$/;
/** A row of a table that has no end yet, and a head without the whole line below it that makes it one. */
const OPEN_ROW = /(?:^|\n)[ \t]*\|[^\n]*$/;
const OPEN_HEAD = /(?:^|\n)[ \t]*\|[^\n]*\n[ \t|:-]*$/;
const RULE = /\n[ \t]*\|?[ \t]*:?-+:?[ \t]*\|[ \t|:-]*\n/;

/**
 * Text that grows, without what would be shown as something else first, and move what is read: half of an
 * address, marks of a table. A table grows by rows: each new letter would place all its columns anew.
 */
export function withoutOpenEnd(text: string): string {
  const rows = RULE.test(text) ? text : text.replace(OPEN_HEAD, "");
  return rows.replace(OPEN_ROW, "").replace(OPEN_LINK, "$1");
}

/** Text that grows at its end, as blocks: the same for every way in which it came. */
export class Splitter {
  /** What was taken in. */
  text = "";
  #closed: Block[] = [];
  #lines: string[] = [];
  #verbatim: Verbatim | null = null;
  /** The fence inside of a list or a quote that is open. */
  #fence = "";
  /** The line that has no end yet. */
  #rest = "";
  #isWhole = false;

  /** Takes in what comes next. */
  push(more: string): void {
    this.text += more;
    const lines = (this.#rest + more).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#take(line);
  }

  /** What there is; all but the last are closed and stay as they are. */
  blocks(): Block[] {
    const rest = this.#copy();
    rest.#take(this.#rest);
    if (rest.#isWhole) return [{ kind: "text", text: this.text }];
    if (rest.#verbatim) return [...rest.#closed, blockOf(rest.#verbatim, true)];
    const text = rest.#lines.join("\n");
    return isBlank(text) ? rest.#closed : [...rest.#closed, { kind: "text", text }];
  }

  /** What is open, apart from this, so that a line may be tried. */
  #copy(): Splitter {
    const copy = new Splitter();
    copy.#closed = [...this.#closed];
    copy.#lines = [...this.#lines];
    copy.#verbatim = this.#verbatim && {
      ...this.#verbatim,
      lines: [...this.#verbatim.lines],
    };
    copy.#fence = this.#fence;
    copy.#isWhole = this.#isWhole;
    return copy;
  }

  #take(line: string): void {
    if (this.#isWhole) return;
    if (this.#verbatim) this.#within(this.#verbatim, line);
    else if (this.#fence) this.#inFence(line);
    else this.#outside(line);
  }

  #within(block: Verbatim, line: string): void {
    const end = block.closes.exec(line);
    if (!end) {
      block.lines.push(line.replace(block.indent, ""));
      return;
    }
    if (end[1] && !isBlank(end[1])) block.lines.push(end[1]);
    this.#closed.push(blockOf(block, false));
    this.#verbatim = null;
  }

  #inFence(line: string): void {
    // What stands at the margin ends a list, and all that is open in it.
    if (/^\S/.test(line)) {
      this.#fence = "";
      if (!ITEM.test(line)) this.#close();
      this.#outside(line);
      return;
    }
    const mark = FENCE.exec(line)?.[1] ?? "";
    const closes = mark[0] === this.#fence[0] && mark.length >= this.#fence.length;
    if (closes && line.trim() === mark) this.#fence = "";
    this.#lines.push(line);
  }

  #outside(line: string): void {
    if (REACHES_FAR.test(line) || HTML.test(line)) {
      this.#isWhole = true;
      return;
    }
    const isListed = this.#isListed(line);
    const verbatim = isListed ? null : verbatimIn(line);
    const begins = this.#lines.at(-1)?.trim() === "" && !isBlank(line) && !CONTINUES.test(line);
    if (verbatim || begins) this.#close();
    if (verbatim) {
      this.#verbatim = verbatim;
      return;
    }
    this.#fence = (isListed && FENCE.exec(line)?.[1]) || "";
    this.#lines.push(line);
  }

  /** Whether a line is indented into the list above it. */
  #isListed(line: string): boolean {
    const indent = /^ */.exec(line)?.[0].length ?? 0;
    if (!indent) return false;
    const begin = this.#lines.findLastIndex((each) => ENDS_LIST.test(each)) + 1;
    return this.#lines.slice(begin).some((each) => {
      const item = ITEM.exec(each);
      return item !== null && indent >= item[0].length;
    });
  }

  #close(): void {
    const text = this.#lines.join("\n");
    if (!isBlank(text)) this.#closed.push({ kind: "text", text });
    this.#lines = [];
  }
}

/** A whole text as blocks. */
export function blocksIn(text: string): Block[] {
  const splitter = new Splitter();
  splitter.push(text);
  return splitter.blocks();
}
