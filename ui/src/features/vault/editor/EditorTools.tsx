import { redo, undo } from "@codemirror/commands";
import type { Command, EditorView } from "@codemirror/view";
import { Bold, Italic, Link2, List, ListTodo, type LucideIcon, Redo2, Undo2 } from "lucide-react";
import { useEffect, useState } from "react";
import { t } from "../../../i18n";
import { linked, listed, marked } from "./commands";
import styles from "./Editor.module.css";

const tools = (): [icon: LucideIcon, label: string, run: Command][] => [
  [Bold, t("Bold"), marked("**")],
  [Italic, t("Italic"), marked("*")],
  [List, t("List"), listed("- ")],
  [ListTodo, t("Checkbox"), listed("- [ ] ")],
  [Link2, t("Link to a page"), linked],
  [Undo2, t("Undo"), undo],
  [Redo2, t("Redo"), redo],
];

/** How much of the window the keyboard of a phone covers, where it does not make the window smaller. */
function useKeyboard(): number {
  const [covered, setCovered] = useState(0);
  useEffect(() => {
    const seen = window.visualViewport;
    if (!seen) return;
    const look = () => setCovered(Math.max(0, innerHeight - seen.height - seen.offsetTop));
    seen.addEventListener("resize", look);
    seen.addEventListener("scroll", look);
    return () => {
      seen.removeEventListener("resize", look);
      seen.removeEventListener("scroll", look);
    };
  }, []);
  return covered;
}

/** Where there are no keys for it: the bar below the text, above the keyboard of a phone. */
export function EditorTools({ view }: { view: EditorView }) {
  const covered = useKeyboard();
  return (
    <div
      role="toolbar"
      aria-label={t("Format")}
      className={styles.tools}
      style={{ marginBlockEnd: covered }}
    >
      {tools().map(([Icon, label, run]) => (
        <button
          key={label}
          type="button"
          className="icon-button"
          aria-label={label}
          title={label}
          // The text keeps the focus, and with it the keyboard.
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => {
            run(view);
            view.focus();
          }}
        >
          <Icon size={20} aria-hidden />
        </button>
      ))}
    </div>
  );
}
