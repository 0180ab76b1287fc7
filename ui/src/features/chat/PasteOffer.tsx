import { FileText, X } from "lucide-react";
import { locale, t } from "../../i18n";
import { Button, IconButton } from "../../kit/Button";
import styles from "./Composer.module.css";
import { fileOf, linesOf } from "./pasted";

type OfferProps = { text: string; onFile: (file: File) => void; onKeep: () => void };

/** A long text was pasted: it may become a file, so that the message stays short. */
export function PasteOffer({ text, onFile, onKeep }: OfferProps) {
  const lines = linesOf(text);
  return (
    <div className={styles.offer} role="status">
      <FileText size={16} strokeWidth={1.75} aria-hidden />
      <span>
        {lines > 1
          ? t("You pasted {lines} lines.", { lines: lines.toLocaleString(locale()) })
          : t("You pasted a long text.")}
      </span>
      <Button onClick={() => onFile(fileOf(text))}>{t("Attach as a file")}</Button>
      <IconButton icon={X} size={14} label={t("Keep it as text")} onClick={onKeep} />
    </div>
  );
}
