// Formulas in running text, as an extension of the Markdown parser: `$…$`, `$$…$$`, and, where they are wanted, `\(…\)` and `\[…\]`.
// Prices stay text. Rules of a single dollar: Pandoc's `tex_math_dollars` (https://pandoc.org/MANUAL.html#math).
import type { CompileContext, Extension as FromMarkdown, Token } from "mdast-util-from-markdown";
import { mathFromMarkdown } from "mdast-util-math";
import { math } from "micromark-extension-math";
import type {
  Code,
  Construct,
  Effects,
  Extension,
  State,
  TokenizeContext,
} from "micromark-util-types";
import type {} from "remark-parse";
import type { Processor } from "unified";

declare module "micromark-util-types" {
  interface TokenTypeMap {
    formula: "formula";
    formulaData: "formulaData";
  }
}

const DOLLAR = 36;
const BACKSLASH = 92;
const SPACE = 32;
const TAB = 9;
/** What closes what was opened by a backslash and this: `(` by `)`, `[` by `]`. */
const PAIRS = new Map<Code, Code>([
  [40, 41],
  [91, 93],
]);

const endsLine = (code: Code) => code !== null && code < -2;
const isBlank = (code: Code) =>
  code === null || code === SPACE || code === TAB || code === -1 || code === -2 || endsLine(code);
const isDigit = (code: Code) => code !== null && code >= 48 && code <= 57;
const isWord = (code: Code) =>
  code !== null && code > 0 && /[\p{L}\p{N}]/u.test(String.fromCharCode(code));

/** Closers that a paragraph does not have any more: nobody looks for them twice, whatever it is full of. */
const missing = new WeakMap<TokenizeContext, Set<string>>();

/** The inside of a formula as states of the parser; each kind says where it ends. */
function inside(self: TokenizeContext, effects: Effects, ok: State, nok: State, closer: string) {
  const gone = missing.get(self) ?? new Set();
  missing.set(self, gone);
  let before: Code = null;
  let isFirst = true;

  const fail = (code: Code) => {
    if (code === null) gone.add(closer);
    return nok(code);
  };
  const between: State = (code) => {
    if (code === null) return fail(code);
    if (!endsLine(code)) {
      effects.enter("formulaData");
      return data(code);
    }
    effects.enter("lineEnding");
    effects.consume(code);
    effects.exit("lineEnding");
    before = code;
    return between;
  };
  const leave: State = (code) => {
    effects.exit("formulaData");
    return between(code);
  };
  const next = (code: Code): State => {
    effects.consume(code);
    before = code;
    isFirst = false;
    return data;
  };
  const escaped: State = (code) => (code === null || endsLine(code) ? leave(code) : next(code));
  const done: State = (code) => {
    effects.exit("formulaData");
    effects.exit("formula");
    return ok(code);
  };
  /** Behind what may be the closer's first character. */
  const closing: State = (code) => {
    if (closer === "$") return isDigit(code) ? data(code) : done(code);
    if (closer === "$$") {
      if (code !== DOLLAR) return data(code);
    } else if (code !== closer.charCodeAt(1)) return escaped(code);
    effects.consume(code);
    return done;
  };
  const data: State = (code) => {
    if (code === null || endsLine(code)) return leave(code);
    const mayClose = code === closer.charCodeAt(0) && !isFirst;
    if (mayClose && !(closer === "$" && isBlank(before))) {
      effects.consume(code);
      before = code;
      return closing;
    }
    if (code === BACKSLASH) {
      effects.consume(code);
      before = code;
      isFirst = false;
      return escaped;
    }
    return next(code);
  };
  return (code: Code) => (gone.has(closer) ? nok(code) : between(code));
}

const dollars: Construct = {
  name: "formula",
  previous: (code) => code !== DOLLAR && !isWord(code),
  tokenize(effects, ok, nok) {
    const start: State = (code) => {
      effects.enter("formula");
      effects.enter("formulaData");
      effects.consume(code);
      return second;
    };
    const second: State = (code) => {
      if (code === DOLLAR) {
        effects.consume(code);
        return third;
      }
      if (isBlank(code)) return nok(code);
      effects.exit("formulaData");
      return inside(this, effects, ok, nok, "$")(code);
    };
    const third: State = (code) => {
      if (code === DOLLAR || code === null) return nok(code);
      effects.exit("formulaData");
      return inside(this, effects, ok, nok, "$$")(code);
    };
    return start;
  },
};

const brackets: Construct = {
  name: "formula",
  tokenize(effects, ok, nok) {
    const start: State = (code) => {
      effects.enter("formula");
      effects.enter("formulaData");
      effects.consume(code);
      return second;
    };
    const second: State = (code) => {
      const close = PAIRS.get(code);
      if (!close) return nok(code);
      effects.consume(code);
      effects.exit("formulaData");
      return inside(this, effects, ok, nok, `\\${String.fromCharCode(close)}`);
    };
    return start;
  },
};

function syntax(hasBrackets: boolean): Extension {
  const { flow } = math();
  return {
    ...(flow && { flow }),
    text: hasBrackets ? { [DOLLAR]: dollars, [BACKSLASH]: brackets } : { [DOLLAR]: dollars },
  };
}

/** TeX without what marks it as a formula, and whether it stands by itself. */
export function formulaIn(source: string): { tex: string; isDisplay: boolean } {
  const size = source.startsWith("$") && !source.startsWith("$$") ? 1 : 2;
  const isDisplay = source.startsWith("$$") || source.startsWith("\\[");
  return { tex: source.slice(size, -size).trim(), isDisplay };
}

/** The class of a formula's element, by which `Markdown` knows it. */
export const FORMULA = { inline: "math-inline", display: "math-display" } as const;

function enter(this: CompileContext, token: Token): undefined {
  const { tex, isDisplay } = formulaIn(this.sliceSerialize(token));
  const className = [isDisplay ? FORMULA.display : FORMULA.inline];
  const data = {
    hName: "code",
    hProperties: { className },
    hChildren: [{ type: "text" as const, value: tex }],
  };
  this.enter({ type: "inlineMath", value: tex, data }, token);
  this.buffer();
}

function exit(this: CompileContext, token: Token): undefined {
  this.resume();
  this.exit(token);
}

const tree: FromMarkdown = { enter: { formula: enter }, exit: { formula: exit } };

/** A plugin of remark. `brackets` are for what models write; in a person's page they are escaped brackets. */
export function remarkFormulas(this: Processor, options: { brackets?: boolean } = {}): void {
  const data = this.data();
  data.micromarkExtensions = [
    ...(data.micromarkExtensions ?? []),
    syntax(options.brackets ?? false),
  ];
  data.fromMarkdownExtensions = [...(data.fromMarkdownExtensions ?? []), mathFromMarkdown(), tree];
}
