// Each line of the editor has the direction of its own first letters.
import { RangeSetBuilder } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, ViewPlugin } from "@codemirror/view";

const auto = Decoration.line({ attributes: { dir: "auto" } });

function shown({ state, visibleRanges }: EditorView): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  for (const { from, to } of visibleRanges) {
    for (let at = from; at <= to; ) {
      const line = state.doc.lineAt(at);
      builder.add(line.from, line.from, auto);
      at = line.to + 1;
    }
  }
  return builder.finish();
}

export const directions = [
  EditorView.perLineTextDirection.of(true),
  ViewPlugin.define(
    (view) => ({
      lines: shown(view),
      update(change) {
        if (change.docChanged || change.viewportChanged) this.lines = shown(change.view);
      },
    }),
    { decorations: ({ lines }) => lines },
  ),
];
