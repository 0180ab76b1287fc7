import { useState } from "react";
import { t } from "../../../i18n";
import { ImportPage } from "../ImportPage";
import styles from "./Setup.module.css";

/** Where each program gives its export. */
const sources = () => [
  {
    name: "ChatGPT",
    way: t("Settings › Data controls › Export data. The link comes by e-mail; upload the zip."),
  },
  {
    name: "Claude",
    way: t("Settings › Privacy › Export data. The link comes by e-mail; upload the zip."),
  },
  {
    name: "Notion",
    way: t("Settings › General › Export all workspace content, as Markdown & CSV. Upload the zip."),
  },
  {
    name: "Obsidian",
    way: t("Zip the folder of your vault, and upload the zip."),
  },
];

export function HistoryStep({ onDone }: { onDone: (isDone: boolean) => void }) {
  const [shown, setShown] = useState<string | null>(null);
  const way = sources().find(({ name }) => name === shown)?.way;
  return (
    <div className={styles.step}>
      <fieldset className={styles.sources} aria-label={t("Where your history is")}>
        {sources().map(({ name }) => (
          <button
            key={name}
            type="button"
            aria-pressed={shown === name}
            onClick={() => setShown(shown === name ? null : name)}
          >
            {name}
          </button>
        ))}
      </fieldset>
      <p className={styles.note} role="status">
        {way ?? t("Choose where it is, to see how to get it.")}
      </p>
      <ImportPage onDone={onDone} />
    </div>
  );
}
