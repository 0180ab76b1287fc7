import { t } from "../../i18n";
import styles from "./Diff.module.css";
import type { DiffLine } from "./diffLines";
import vault from "./vault.module.css";

const signs = (): Record<DiffLine["kind"], [sign: string, said: string]> => ({
  same: ["", ""],
  added: ["+", t("added: ")],
  removed: ["−", t("removed: ")],
  place: ["⋯", ""],
});

/** Lines that came and went; told apart by their signs, not by colour alone. */
export function Diff({ lines, label }: { lines: readonly DiffLine[]; label: string }) {
  const known = signs();
  if (!lines.length) return <p className={vault.note}>{t("The text is the same.")}</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a long diff is scrolled with the keyboard
    <section className={`${styles.diff} scroll`} aria-label={label} tabIndex={0}>
      {lines.map(({ kind, text }, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a diff never changes
        <div key={i} className={styles[kind]}>
          <span aria-hidden>{known[kind][0]}</span>
          <span className="visually-hidden">{known[kind][1]}</span>
          <code>{text || " "}</code>
        </div>
      ))}
    </section>
  );
}
