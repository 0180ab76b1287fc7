import { lazy, Suspense, useState } from "react";
import type { Attachment } from "../../api/types";
import type { Session } from "../../run/session";
import styles from "./Attachments.module.css";
import { faceOf } from "./attached";
import { FileChip } from "./FileChip";
import { Picture } from "./Picture";
import { TableFile } from "./TableFile";

const PictureViewer = lazy(() => import("./PictureViewer"));

/** Files of a message: pictures and tables as what they are, everything else to be downloaded. */
export function AttachmentList(props: {
  /** Who has them: somebody's own message, or a call that made them. */
  of: "question" | "tool";
  files: readonly Attachment[];
  session: Session;
  label: string;
}) {
  const { of, files, session, label } = props;
  const [open, setOpen] = useState<number | null>(null);
  if (!files.length) return null;
  const pictures = files.filter((file) => faceOf(file) === "picture");
  const shown = (file: Attachment) => {
    switch (faceOf(file)) {
      case "picture": {
        const onOpen = () => setOpen(pictures.indexOf(file));
        return <Picture file={file} session={session} onOpen={onOpen} />;
      }
      case "table":
        return <TableFile file={file} session={session} />;
      case "file":
        return <FileChip file={file} session={session} />;
    }
  };
  return (
    <>
      <ul
        className={`${styles.list} ${of === "tool" ? styles.ofTool : styles.ofQuestion}`}
        aria-label={label}
      >
        {files.map((file) => (
          <li key={file.url}>{shown(file)}</li>
        ))}
      </ul>
      {open !== null && (
        <Suspense fallback={null}>
          <PictureViewer files={pictures} at={open} onClose={() => setOpen(null)} />
        </Suspense>
      )}
    </>
  );
}
