import { Download, File, FileCode2, FileImage, FileText, type LucideIcon } from "lucide-react";
import { useEffect } from "react";
import type { Attachment } from "../../api/types";
import { t } from "../../i18n";
import type { Session } from "../../run/session";
import { useStore } from "../../services/store";
import { bytes } from "../../services/words";
import styles from "./Attachments.module.css";

export type FileProps = { file: Attachment; session: Session };

export function iconOf(name: string, mediaType = ""): LucideIcon {
  if (mediaType.startsWith("image/") || /\.(png|jpe?g|gif|webp|svg)$/i.test(name)) return FileImage;
  if (/\.(py|js|ts|sh|json|html?|toml|ya?ml)$/i.test(name)) return FileCode2;
  if (mediaType.startsWith("text/") || /\.(txt|md|csv|pdf|docx?)$/i.test(name)) return FileText;
  return File;
}

/** How large a file is, once it is known. */
export function useSize({ file, session }: FileProps): string {
  const size = useStore(session.sizes.store).get(file.url);
  useEffect(() => void session.sizes.want(file.url), [session, file.url]);
  return size === undefined ? "" : bytes(size);
}

/** A file by its name and size, to be downloaded. */
export function FileChip({ file, session }: FileProps) {
  const Icon = iconOf(file.name, file.media_type);
  const size = useSize({ file, session });
  return (
    <a className={styles.chip} href={file.url} download={file.name}>
      <Icon size={16} strokeWidth={1.75} aria-hidden />
      <span className="visually-hidden">{t("Download")} </span>
      <span className="clip">{file.name}</span>
      <small>{size}</small>
      <Download size={15} className={styles.get} aria-hidden />
    </a>
  );
}
