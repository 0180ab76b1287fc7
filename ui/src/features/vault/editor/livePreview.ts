// A page as it reads, while it is written: marks of Markdown are shown only where the caret is.
import { syntaxTree } from "@codemirror/language";
import type { EditorState, Extension, Range } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  EditorView,
  ViewPlugin,
  type ViewUpdate,
} from "@codemirror/view";
import type { SyntaxNode, SyntaxNodeRef } from "@lezer/common";
import { decoded } from "../../../services/router";
import { type Pages, partsOf, pathFor } from "../wikilinks";
import { frontEnd } from "./properties";
import { BulletWidget, PictureWidget, TaskWidget } from "./widgets";

export type PageOfEditor = { path: string; pages: Pages };

const hidden = Decoration.replace({});
const bullet = new BulletWidget();
const line = (name: string) => Decoration.line({ class: `cm-${name}` });
const words = (name: string) => Decoration.mark({ class: `cm-${name}` });

const CODE = /^(?:InlineCode|CodeText|FencedCode|CodeBlock|URL|HTMLBlock|HTMLTag)$/;
const WIKI = /!?\[\[([^[\]\n]+)\]\]/g;
const TAG = /(?<=^|[\s(])#[\p{L}_][\p{L}\p{N}_/-]*/gu;
const BLOCK_ID = / \^[A-Za-z0-9-]+$/;
const CALLOUT = /^\s*>\s*\[!(\w+)\][+-]?/;
const PICTURE = /\.(?:png|jpe?g|gif|webp|avif)$/i;
const KINDS: Record<string, string> = {
  warning: "ask",
  caution: "ask",
  important: "ask",
  danger: "fault",
  error: "fault",
  bug: "fault",
  success: "ok",
  done: "ok",
  tip: "ok",
};

const spans: Record<string, string> = {
  StrongEmphasis: "strong",
  Emphasis: "em",
  Strikethrough: "strike",
  InlineCode: "inline-code",
};
const MARKS = /^(?:EmphasisMark|StrikethroughMark|CodeMark)$/;

class Drawing {
  readonly found: Range<Decoration>[] = [];
  readonly #state: EditorState;

  constructor(
    readonly view: EditorView,
    readonly page: PageOfEditor,
  ) {
    this.#state = view.state;
  }

  add(deco: Decoration, from: number, to = from): void {
    if (to > from || deco.spec.class) this.found.push(deco.range(from, to));
  }

  /** Whether the caret or what is chosen reaches into a stretch. */
  touches(from: number, to: number): boolean {
    if (!this.view.hasFocus) return false;
    return this.#state.selection.ranges.some((one) => one.to >= from && one.from <= to);
  }

  touchesLine(at: number): boolean {
    const { from, to } = this.#state.doc.lineAt(at);
    return this.touches(from, to);
  }

  text(from: number, to: number): string {
    return this.#state.sliceDoc(from, to);
  }

  /** Gives all lines of a block a look. */
  lines(name: string, from: number, to: number): void {
    const { doc } = this.#state;
    const low = Math.max(from, this.view.viewport.from);
    const last = doc.lineAt(Math.min(to, this.view.viewport.to)).number;
    for (let n = doc.lineAt(low).number; n <= last; n++) this.add(line(name), doc.line(n).from);
  }

  node = (node: SyntaxNodeRef): false | undefined => {
    const { name, from, to } = node;
    const level = /^(?:ATX|Setext)Heading(\d)$/.exec(name)?.[1];
    if (level) this.lines(`h${level}`, from, to);
    else if (spans[name]) this.add(words(spans[name]), from, to);
    else if (MARKS.test(name)) this.#mark(node.node);
    else if (name === "HeaderMark") this.#headerMark(node.node);
    else if (name === "Link") this.#link(node.node);
    else if (name === "Image") this.#image(node.node);
    else if (name === "TaskMarker") this.#task(from, to);
    else if (name === "ListMark") this.#listMark(node.node);
    else if (name === "Blockquote") this.#quote(from, to);
    else if (name === "QuoteMark" && !this.touchesLine(from)) {
      const after = this.text(to, to + 1) === " " ? 1 : 0;
      this.add(hidden, from, to + after);
    } else if (name === "FencedCode" || name === "CodeBlock") this.lines("code-line", from, to);
    else if (name === "Table") this.lines("table-line", from, to);
    else if (name === "HorizontalRule") {
      this.add(line("rule"), this.#state.doc.lineAt(from).from);
      if (!this.touchesLine(from)) this.add(hidden, from, to);
    }
    return undefined;
  };

  #mark(node: SyntaxNode): void {
    const over = node.parent;
    if (!over || over.name === "FencedCode" || this.touches(over.from, over.to)) return;
    this.add(hidden, node.from, node.to);
  }

  #headerMark(node: SyntaxNode): void {
    if (this.touchesLine(node.from) || node.parent?.name.startsWith("Setext")) return;
    const after = this.text(node.to, node.to + 1) === " " ? 1 : 0;
    this.add(hidden, node.from, node.to + after);
  }

  #link(node: SyntaxNode): void {
    const url = node.getChild("URL");
    if (!url) return;
    const address = this.text(url.from, url.to);
    const isPage = !/^([a-z][a-z0-9+.-]*:|\/\/|#)/i.test(address) && /\.md(?:#|$)/i.test(address);
    const target = isPage ? decoded(address.split("#")[0] ?? "") : address;
    const marks = node.getChildren("LinkMark");
    const [open, close] = marks;
    if (!open || !close) return;
    this.#leading(open.to, close.from, target, isPage);
    if (this.touches(node.from, node.to)) return;
    this.add(hidden, open.from, open.to);
    this.add(hidden, close.from, node.to);
  }

  #leading(from: number, to: number, target: string, isPage: boolean): void {
    const { pages, path } = this.page;
    const found = isPage ? pages.resolve(target, path) : null;
    const name = isPage && !found ? "cm-missing" : "cm-link";
    const attributes = { [isPage ? "data-page" : "data-url"]: found ?? target };
    if (to > from) this.add(Decoration.mark({ class: name, attributes }), from, to);
  }

  #image(node: SyntaxNode): void {
    const url = node.getChild("URL");
    if (!url || this.touches(node.from, node.to)) return;
    const source = decoded(this.text(url.from, url.to));
    const alt = /^!\[([^\]]*)\]/.exec(this.text(node.from, node.to))?.[1] ?? "";
    this.#picture(source, alt, node.from, node.to);
  }

  #picture(source: string, alt: string, from: number, to: number): void {
    if (/^([a-z][a-z0-9+.-]*:|\/\/)/i.test(source) || !PICTURE.test(source)) return;
    const widget = new PictureWidget(this.page.path, source, alt || source);
    this.add(Decoration.replace({ widget }), from, to);
  }

  #task(from: number, to: number): void {
    const isDone = this.text(from + 1, from + 2) !== " ";
    if (isDone) this.add(words("done"), to + 1, this.#state.doc.lineAt(to).to);
    if (this.touches(from + 1, to - 1)) return;
    const said = this.text(to, this.#state.doc.lineAt(to).to).replace(BLOCK_ID, "").trim();
    this.add(Decoration.replace({ widget: new TaskWidget(isDone, said) }), from, to);
  }

  #listMark(node: SyntaxNode): void {
    const { from, to } = node;
    if (node.parent?.getChild("Task") && !this.touchesLine(from)) this.add(hidden, from, to + 1);
    else if (/^[-*+]$/.test(this.text(from, to)) && !this.touchesLine(from))
      this.add(Decoration.replace({ widget: bullet }), from, to);
    else this.add(words("list-mark"), from, to);
  }

  #quote(from: number, to: number): void {
    const first = this.#state.doc.lineAt(from);
    const callout = CALLOUT.exec(first.text);
    if (!callout?.[1]) {
      this.lines("quote", from, to);
      return;
    }
    const kind = callout[1].toLowerCase();
    this.lines(`callout cm-callout-${KINDS[kind] ?? "plain"}`, from, to);
    this.add(line("callout-title"), first.from);
    if (this.touchesLine(from)) return;
    // What is left says the kind by itself: `[!note]` alone is `Note`.
    const start = first.from + first.text.indexOf("[!");
    const end = first.from + callout[0].length;
    const hasTitle = first.text.slice(callout[0].length).trim();
    if (hasTitle) this.add(hidden, start, end + (first.text[callout[0].length] === " " ? 1 : 0));
    else {
      this.add(hidden, start, start + 2);
      this.add(words("callout-kind"), start + 2, start + 2 + callout[1].length);
      this.add(hidden, start + 2 + callout[1].length, end);
    }
  }

  /** What Markdown itself does not know: links between pages, tags, ids of lines. */
  extras(from: number, to: number): void {
    for (let at = from; at <= to; ) {
      const { text, from: start, to: end } = this.#state.doc.lineAt(at);
      if (/[[#^]/.test(text)) this.#line(text, start);
      at = end + 1;
    }
  }

  #line(text: string, start: number): void {
    const tree = syntaxTree(this.#state);
    const isCode = (at: number) => CODE.test(tree.resolveInner(start + at, 1).name);
    for (const match of text.matchAll(WIKI)) {
      if (!isCode(match.index)) this.#wiki(match[0], match[1] ?? "", start + match.index);
    }
    for (const { index, 0: tag } of text.matchAll(TAG)) {
      if (!isCode(index)) this.add(words("tag"), start + index, start + index + tag.length);
    }
    const id = BLOCK_ID.exec(text);
    if (!id) return;
    const [low, high] = [start + id.index, start + text.length];
    this.add(this.touchesLine(start) ? words("block-id") : hidden, low, high);
  }

  #wiki(all: string, inner: string, from: number): void {
    const to = from + all.length;
    const { target } = partsOf(inner);
    const isActive = this.touches(from, to);
    if (all.startsWith("!") && !isActive && PICTURE.test(target)) {
      this.#picture(target, "", from, to);
      return;
    }
    const bar = inner.search(/\\?\|/);
    const open = from + (all.startsWith("!") ? 3 : 2);
    const shown = bar < 0 ? open : open + bar + (inner[bar] === "\\" ? 2 : 1);
    this.#leading(shown, to - 2, target, true);
    if (isActive) return;
    this.add(hidden, from, shown);
    this.add(hidden, to - 2, to);
  }

  done(): DecorationSet {
    return Decoration.set(this.found, true);
  }
}

function drawn(view: EditorView, page: PageOfEditor): DecorationSet {
  const drawing = new Drawing(view, page);
  const front = frontEnd(view.state.doc);
  if (front > 0) drawing.lines("front", 0, front - 1);
  for (const { from, to } of view.visibleRanges) {
    const low = Math.max(from, front);
    if (low > to) continue;
    syntaxTree(view.state).iterate({
      from: low,
      to,
      // The dashes below the front matter would make a heading of it.
      enter: (node) =>
        node.from < front && node.name !== "Document" ? undefined : drawing.node(node),
    });
    drawing.extras(low, to);
  }
  return drawing.done();
}

/** A click on a link that is shown as one opens it; where its marks are shown, it sets the caret. */
function opening(onOpen: (page: string) => void): Extension {
  const linkAt = (event: MouseEvent) =>
    event.target instanceof Element
      ? event.target.closest<HTMLElement>("[data-page], [data-url]")
      : null;
  return EditorView.domEventHandlers({
    mousedown: (event, view) => {
      const link = linkAt(event);
      if (!link || event.button !== 0) return false;
      const at = view.posAtDOM(link);
      const { from, to } = view.state.doc.lineAt(at);
      const isActive =
        view.hasFocus &&
        view.state.selection.ranges.some((one) => one.to >= from && one.from <= to);
      if (isActive && !event.metaKey && !event.ctrlKey) return false;
      event.preventDefault();
      const { page, url } = link.dataset;
      if (page) onOpen(/\.md$/i.test(page) ? page : pathFor(page));
      else if (url && /^(https?|mailto):/i.test(url)) window.open(url, "_blank", "noopener");
      return true;
    },
  });
}

export function livePreview(page: () => PageOfEditor, onOpen: (path: string) => void): Extension {
  const plugin = ViewPlugin.fromClass(
    class {
      decorations: DecorationSet;
      #pages: Pages;

      constructor(view: EditorView) {
        this.#pages = page().pages;
        this.decorations = drawn(view, page());
      }

      update(update: ViewUpdate) {
        const { pages } = page();
        const isOther = pages !== this.#pages;
        this.#pages = pages;
        const isParsed = syntaxTree(update.startState) !== syntaxTree(update.state);
        const isMoved = update.selectionSet || update.focusChanged || update.viewportChanged;
        if (update.docChanged || isMoved || isParsed || isOther)
          this.decorations = drawn(update.view, page());
      }
    },
    { decorations: (value) => value.decorations },
  );
  return [plugin, opening(onOpen)];
}
