import { useState } from "react";
import { t } from "../../i18n";
import styles from "./Attachments.module.css";
import { FileChip, type FileProps } from "./FileChip";
import { Thumbnail } from "./Thumbnail";

/** A picture in a box whose size does not depend on it, so that nothing moves when it comes. */
export function Picture({ file, session, onOpen }: FileProps & { onOpen: () => void }) {
  const [gone, setGone] = useState(false);
  if (gone) {
    return (
      <>
        <FileChip file={file} session={session} />
        <p className={styles.gone}>{t("This image cannot be shown.")}</p>
      </>
    );
  }
  return (
    <button type="button" className={styles.box} data-tip={t("Open in full size")} onClick={onOpen}>
      <span className="visually-hidden">{t("Open in full size")}: </span>
      <Thumbnail of={file.url} alt={file.name} onGone={() => setGone(true)} />
    </button>
  );
}
