// What keys and the bar of tools do with the text: each a change that undo takes back.
import { startCompletion } from "@codemirror/autocomplete";
import { indentLess, indentMore } from "@codemirror/commands";
import { type ChangeSpec, EditorSelection, type StateCommand } from "@codemirror/state";
import type { Command } from "@codemirror/view";

const ITEM = /^(\s*)(?:(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?)?/;
const IN_LIST = /^\s*(?:[-*+]|\d+[.)])\s/;

/** Puts a mark around what is chosen, or around the word at the caret; takes it away where it is. */
export const marked =
  (mark: string): StateCommand =>
  ({ state, dispatch }) => {
    const size = mark.length;
    const change = state.changeByRange((range) => {
      const { from, to } = range.empty ? (state.wordAt(range.head) ?? range) : range;
      const isMarked =
        state.sliceDoc(from - size, from) === mark && state.sliceDoc(to, to + size) === mark;
      const changes: ChangeSpec = isMarked
        ? [
            { from: from - size, to: from },
            { from: to, to: to + size },
          ]
        : [
            { from, insert: mark },
            { from: to, insert: mark },
          ];
      const by = isMarked ? -size : size;
      return { changes, range: EditorSelection.range(range.anchor + by, range.head + by) };
    });
    dispatch(state.update(change, { userEvent: "input", scrollIntoView: true }));
    return true;
  };

/** Makes the chosen lines items of a list, or tasks; or plain lines where all of them are. */
export const listed =
  (mark: "- " | "- [ ] "): StateCommand =>
  ({ state, dispatch }) => {
    const numbers = new Set<number>();
    for (const { from, to } of state.selection.ranges) {
      const last = state.doc.lineAt(to).number;
      for (let n = state.doc.lineAt(from).number; n <= last; n++) numbers.add(n);
    }
    const lines = [...numbers].map((n) => state.doc.line(n));
    const isTask = (text: string) => /^\s*(?:[-*+]|\d+[.)])\s+\[[ xX]\]\s/.test(text);
    const has = (text: string) =>
      mark === "- " ? IN_LIST.test(text) && !isTask(text) : isTask(text);
    const isPlain = lines.every(({ text }) => has(text));
    const changes = lines.map(({ text, from }) => {
      const [all = "", indent = ""] = ITEM.exec(text) ?? [];
      return { from: from + indent.length, to: from + all.length, insert: isPlain ? "" : mark };
    });
    const change = state.changes(changes);
    // The caret stays behind the mark that comes before it.
    const selection = state.selection.map(change, 1);
    dispatch(
      state.update({ changes: change, selection, userEvent: "input", scrollIntoView: true }),
    );
    return true;
  };

/** A link to a page: of what is chosen, or one to be completed. */
export const linked: Command = (view) => {
  const { state } = view;
  const { from, to, empty } = state.selection.main;
  const insert = empty ? "[[" : `[[${state.sliceDoc(from, to)}]]`;
  view.dispatch({
    changes: { from, to, insert },
    selection: { anchor: from + insert.length },
    userEvent: "input.type",
    scrollIntoView: true,
  });
  if (empty) startCompletion(view);
  return true;
};

const inList: StateCommand = ({ state }) =>
  state.selection.ranges.every(({ head }) => IN_LIST.test(state.doc.lineAt(head).text));

/** Tab moves an item of a list; everywhere else it leads on, as it does on every page. */
export const itemMore: StateCommand = (target) => inList(target) && indentMore(target);
export const itemLess: StateCommand = (target) => inList(target) && indentLess(target);
