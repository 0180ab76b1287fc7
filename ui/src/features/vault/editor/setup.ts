// The editor's parts, put together: what it knows of Markdown, its keys, what it offers, how it looks.
import { autocompletion, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyField, historyKeymap } from "@codemirror/commands";
import {
  deleteMarkupBackward,
  insertNewlineContinueMarkup,
  markdownLanguage,
  pasteURLAsLink,
} from "@codemirror/lang-markdown";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { search, searchKeymap } from "@codemirror/search";
import { Annotation, Compartment, EditorState, type Extension, Text } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightSpecialChars,
  keymap,
  placeholder,
  tooltips,
} from "@codemirror/view";
import { tags as kinds } from "@lezer/highlight";
import { t } from "../../../i18n";
import { titleOf } from "../treeRows";
import { itemLess, itemMore, linked, marked } from "./commands";
import { links, type Offered, tags } from "./completion";
import { directions } from "./directions";
import { front, hiddenEnd } from "./front";
import { livePreview } from "./livePreview";
import { phrases } from "./phrases";
import { linesOf, textOf } from "./textLines";

export type Writing = Offered & {
  onType: (text: string) => void;
  onSave: () => void;
  onOpen: (path: string) => void;
};

/** Of a change that came from elsewhere: it is not told as typed. */
export const foreign = Annotation.define<boolean>();
export const previewing = new Compartment();

const highlighted = syntaxHighlighting(
  HighlightStyle.define([
    { tag: kinds.processingInstruction, class: "cm-mark" },
    { tag: kinds.contentSeparator, class: "cm-mark" },
    { tag: kinds.url, class: "cm-url" },
    { tag: kinds.monospace, class: "cm-mono" },
    { tag: kinds.strong, class: "cm-strong" },
    { tag: kinds.emphasis, class: "cm-em" },
    { tag: kinds.heading, class: "cm-heading" },
  ]),
);

function saved({ onSave }: Writing): true {
  onSave();
  return true;
}

const keys = (writing: () => Writing): Extension =>
  keymap.of([
    { key: "Mod-s", preventDefault: true, run: () => saved(writing()) },
    { key: "Mod-b", run: marked("**") },
    { key: "Mod-i", run: marked("*") },
    { key: "Mod-e", run: marked("`") },
    { key: "Mod-Shift-l", run: linked },
    { key: "Enter", run: insertNewlineContinueMarkup },
    { key: "Backspace", run: deleteMarkupBackward },
    { key: "Tab", run: itemMore, shift: itemLess },
    ...completionKeymap,
    ...searchKeymap,
    ...historyKeymap,
    ...defaultKeymap,
  ]);

function extensions(writing: () => Writing, isSource: boolean): Extension {
  return [
    EditorState.phrases.of(phrases()),
    history(),
    drawSelection(),
    highlightSpecialChars(),
    EditorView.lineWrapping,
    directions,
    EditorState.allowMultipleSelections.of(true),
    markdownLanguage,
    pasteURLAsLink,
    highlighted,
    search({ top: true }),
    tooltips({ position: "fixed" }),
    autocompletion({
      override: [links(writing), tags(writing)],
      icons: false,
      activateOnTypingDelay: 60,
      // It opens where a link was begun: Enter is meant for it at once.
      interactionDelay: 0,
      optionClass: ({ type }) => `cm-option-${type}`,
    }),
    placeholder(t("Write in Markdown. Type [[ to link another page.")),
    keys(writing),
    front,
    previewing.of(preview(writing, isSource)),
    EditorView.contentAttributes.of({
      "aria-label": t("Text of {page}", { page: titleOf(writing().path) }),
      tabindex: "0",
      spellcheck: "true",
      autocorrect: "on",
      autocapitalize: "sentences",
    }),
  ];
}

/** Marks of Markdown hidden where the caret is not; or all of them, in a type of one width. */
export const preview = (writing: () => Writing, isSource: boolean): Extension =>
  isSource
    ? EditorView.editorAttributes.of({ class: "cm-source" })
    : livePreview(writing, (path) => writing().onOpen(path));

/** A state with this text; with the undo history and the place that were kept of it, if they fit. */
export function stateOf(
  writing: () => Writing,
  lines: readonly string[],
  kept: unknown,
  isSource: boolean,
) {
  const all = { extensions: extensions(writing, isSource) };
  if (kept) {
    try {
      return EditorState.fromJSON(kept, all, { history: historyField });
    } catch {
      // Kept by an editor of another make: the text is what matters.
    }
  }
  const doc = Text.of([...lines]);
  const state = EditorState.create({ ...all, doc });
  const anchor = hiddenEnd(state);
  return anchor ? state.update({ selection: { anchor } }).state : state;
}

export const keptOf = (state: EditorState): unknown => state.toJSON({ history: historyField });

export { linesOf, textOf };
