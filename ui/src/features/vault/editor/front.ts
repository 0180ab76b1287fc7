// The front matter while its properties are shown as a form: not in the text, and out of the caret's reach.
import {
  EditorSelection,
  EditorState,
  type Extension,
  StateEffect,
  StateField,
  type Text,
} from "@codemirror/state";
import { Decoration, EditorView } from "@codemirror/view";
import { frontEnd, type Property, propertiesOf } from "./properties";

/** Shows the front matter as text, or hides it behind its form. */
export const asText = StateEffect.define<boolean>();

const isText = StateField.define<boolean>({
  create: () => false,
  update: (value, tr) =>
    tr.effects.reduce((now, effect) => (effect.is(asText) ? effect.value : now), value),
});

/** The properties of a page, if all of its front matter are properties. */
export function propertiesIn(doc: Text): Property[] | null {
  const end = frontEnd(doc);
  if (!end) return null;
  const last = doc.lineAt(end - 1).number;
  const lines: string[] = [];
  for (let n = 2; n < last; n++) lines.push(doc.line(n).text);
  return propertiesOf(lines);
}

/** Where the text begins that can be written; 0 where nothing is hidden. */
export function hiddenEnd(state: EditorState): number {
  const end = frontEnd(state.doc);
  // A page that is nothing but front matter has no line below it to write in.
  if (!end || end >= state.doc.length + 1 || state.field(isText) || !propertiesIn(state.doc))
    return 0;
  return state.doc.lineAt(end - 1).number < state.doc.lines ? end : 0;
}

const drawn = EditorView.decorations.compute(["doc", isText], (state) => {
  const end = hiddenEnd(state);
  return end
    ? Decoration.set(Decoration.replace({ block: true }).range(0, end - 1))
    : Decoration.none;
});

const outside = EditorState.transactionFilter.of((tr) => {
  if (!tr.selection && !tr.docChanged && !tr.effects.length) return tr;
  const end = hiddenEnd(tr.state);
  const { ranges, mainIndex } = tr.newSelection;
  if (!end || ranges.every((one) => one.from >= end)) return tr;
  const inside = ranges.map((one) =>
    EditorSelection.range(Math.max(end, one.anchor), Math.max(end, one.head)),
  );
  return [tr, { selection: EditorSelection.create(inside, mainIndex), sequential: true }];
});

export const front: Extension = [isText, drawn, outside];
