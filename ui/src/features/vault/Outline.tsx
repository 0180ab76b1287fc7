import { t } from "../../i18n";
import styles from "./Outline.module.css";
import { outlineOf } from "./texts";
import vault from "./vault.module.css";

/** Tells the editor and the preview of the page which heading to show: its line, and its place among the headings. */
export const SHOW_HEADING = "vault-heading";

/** The headings of a page; one leads to its place. */
export function Outline({ text }: { text: string }) {
  const headings = outlineOf(text);
  if (!headings.length) return <p className={vault.note}>{t("This page has no headings.")}</p>;
  const top = Math.min(...headings.map(({ level }) => level));
  return (
    <ol className={styles.outline} aria-label={t("Outline")}>
      {headings.map(({ level, text: words, line }, index) => (
        <li key={line} style={{ paddingInlineStart: (level - top) * 14 }}>
          <button
            type="button"
            className="clip"
            onClick={() =>
              dispatchEvent(new CustomEvent(SHOW_HEADING, { detail: { line, index } }))
            }
          >
            {words}
          </button>
        </li>
      ))}
    </ol>
  );
}
