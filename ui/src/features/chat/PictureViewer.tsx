import { ChevronLeft, ChevronRight, Download } from "lucide-react";
import { type KeyboardEvent, useState } from "react";
import type { Attachment } from "../../api/types";
import { t } from "../../i18n";
import { across } from "../../kit/across";
import { IconButton } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import styles from "./Attachments.module.css";

type ViewerProps = { files: readonly Attachment[]; at: number; onClose: () => void };

/** The pictures of a message in full size, one after the other. */
export default function PictureViewer({ files, at: first, onClose }: ViewerProps) {
  const [at, setAt] = useState(first);
  const [whole, setWhole] = useState(false);
  const file = files[at];
  if (!file) return null;
  const go = (by: number) => {
    setAt((at + by + files.length) % files.length);
    setWhole(false);
  };
  const press = (event: KeyboardEvent) => {
    if (files.length < 2) return;
    const key = across(event.key);
    if (key === "ArrowRight") go(1);
    else if (key === "ArrowLeft") go(-1);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title={file.name} className={styles.viewer ?? ""} onClose={onClose}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the arrow keys lead on wherever the focus is inside */}
      <div className={`body ${styles.stage}`} onKeyDown={press}>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a large picture is scrolled with the keyboard */}
        <div className={`${styles.frame} scroll`} tabIndex={0} data-first>
          {/* biome-ignore lint/a11y/useKeyWithClickEvents: the button below does the same */}
          <img
            src={file.url}
            alt={file.name}
            className={whole ? styles.whole : ""}
            onClick={() => setWhole(!whole)}
          />
        </div>
        <div className="actions">
          {files.length > 1 && (
            <>
              <IconButton icon={ChevronLeft} label={t("Previous picture")} onClick={() => go(-1)} />
              <span className={styles.count} role="status">
                {t("{at} of {count}", { at: at + 1, count: files.length })}
              </span>
              <IconButton icon={ChevronRight} label={t("Next picture")} onClick={() => go(1)} />
              <span className="gap" />
            </>
          )}
          <button type="button" className="button plain" onClick={() => setWhole(!whole)}>
            {whole ? t("Fit to the window") : t("Actual size")}
          </button>
          <a className="button" href={file.url} download={file.name}>
            <Download size={16} aria-hidden />
            {t("Download")}
          </a>
        </div>
      </div>
    </Dialog>
  );
}
