import { Ghost } from "lucide-react";
import { t } from "../../i18n";
import styles from "./TemporaryMark.module.css";

/** Says plainly that this conversation does not stay. */
export function TemporaryMark() {
  return (
    <span className={styles.mark}>
      <Ghost size={14} aria-hidden />
      {t("Temporary")}
    </span>
  );
}

/** The same in full, where the messages are written. */
export function TemporaryNote() {
  return (
    <p className={styles.note}>
      <Ghost size={15} aria-hidden />
      <span>
        {t(
          "This chat is not listed, searched or remembered. It is deleted one day after its last message.",
        )}
      </span>
    </p>
  );
}
