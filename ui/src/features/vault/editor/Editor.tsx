// The text of a page as it is in its file, shown as it reads. Loaded with the first page that is written.
import { Transaction } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { PHONE, useMedia } from "../../../kit/pieces";
import { SHOW_HEADING } from "../Outline";
import { changesTo } from "./changes";
import styles from "./Editor.module.css";
import { EditorTools } from "./EditorTools";
import { Properties } from "./Properties";
import { foreign, keptOf, preview, previewing, stateOf, type Writing } from "./setup";
import { adoptStyles } from "./styleSheets";
import { type LineEnds, linesOf, textOf } from "./textLines";

adoptStyles();

const MOST_KEPT = 20;

/** What is kept of pages that were left: what undo takes back, and where the caret was. */
export type KeptEditors = Map<string, { text: string; state: unknown }>;

type EditorProps = Writing & {
  text: string;
  kept: KeptEditors;
  /** Marks of Markdown are all shown. */
  isSource: boolean;
};

function keep(kept: KeptEditors, path: string, view: EditorView, text: string): void {
  kept.delete(path);
  // One with line ends of both kinds would not come back as it is.
  if (!text.replaceAll("\r\n", "").includes("\r"))
    kept.set(path, { text, state: keptOf(view.state) });
  const [first] = kept.keys();
  if (kept.size > MOST_KEPT && first) kept.delete(first);
}

export default function Editor(props: EditorProps) {
  const { path, text, kept, isSource } = props;
  const box = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const ends = useRef<LineEnds>({ mark: "", end: "\n" });
  const [view, setView] = useState<EditorView | null>(null);
  const touch = useMedia("(pointer: coarse)");
  const phone = useMedia(PHONE);
  useLayoutEffect(() => {
    const first = linesOf(latest.current.text);
    ends.current = first.ends;
    const before = kept.get(path);
    const state = stateOf(
      () => latest.current,
      first.lines,
      before?.state,
      latest.current.isSource,
    );
    const made = new EditorView({
      state,
      parent: box.current as HTMLDivElement,
      dispatchTransactions: (all, target) => {
        target.update(all);
        const isTyped = all.some((one) => one.docChanged && !one.annotation(foreign));
        if (isTyped) latest.current.onType(textOf(target.state.doc.toJSON(), ends.current));
      },
    });
    setView(made);
    return () => {
      keep(kept, path, made, textOf(made.state.doc.toJSON(), ends.current));
      made.destroy();
    };
  }, [path, kept]);
  useLayoutEffect(() => {
    if (!view) return;
    const { lines, ends: now } = linesOf(text);
    ends.current = now;
    const changes = changesTo(view.state.doc, lines);
    if (!changes.length) return;
    const annotations = [foreign.of(true), Transaction.addToHistory.of(false)];
    view.dispatch({ changes, annotations });
  }, [view, text]);
  useLayoutEffect(() => {
    view?.dispatch({ effects: previewing.reconfigure(preview(() => latest.current, isSource)) });
  }, [view, isSource]);
  useEffect(() => {
    const show = (event: Event) => {
      const { line } = (event as CustomEvent<{ line: number }>).detail;
      if (!view || line > view.state.doc.lines) return;
      const anchor = view.state.doc.line(line).from;
      const effects = EditorView.scrollIntoView(anchor, { y: "start", yMargin: 24 });
      view.dispatch({ selection: { anchor }, effects });
      view.focus();
    };
    addEventListener(SHOW_HEADING, show);
    return () => removeEventListener(SHOW_HEADING, show);
  }, [view]);
  // The links may lead elsewhere now.
  const { pages } = props;
  useLayoutEffect(() => {
    if (pages) view?.dispatch({});
  }, [view, pages]);
  return (
    <div className={styles.editor}>
      {view && <Properties view={view} text={text} />}
      <div ref={box} className={styles.text} />
      {view && (touch || phone) && <EditorTools view={view} />}
    </div>
  );
}
