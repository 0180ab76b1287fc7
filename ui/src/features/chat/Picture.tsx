import { Download } from "lucide-react";
import { useState } from "react";
import { Dialog } from "../../kit/Dialog";
import { FileChip, type FileProps } from "./FileChip";

/** A picture in a box whose size does not depend on it, so that nothing moves when it comes. */
export function Picture({ file, session }: FileProps) {
  const [open, setOpen] = useState(false);
  const [gone, setGone] = useState(false);
  if (gone) {
    return (
      <>
        <FileChip file={file} session={session} />
        <p className="gone">This image cannot be shown.</p>
      </>
    );
  }
  return (
    <>
      <button
        type="button"
        className="picture-box"
        title="Open in full size"
        onClick={() => setOpen(true)}
      >
        <span className="visually-hidden">Open in full size: </span>
        <img
          src={file.url}
          alt={file.name}
          loading="lazy"
          decoding="async"
          onError={() => setGone(true)}
        />
      </button>
      {open && (
        <Dialog title={file.name} className="picture-dialog" onClose={() => setOpen(false)}>
          <div className="body">
            <img src={file.url} alt={file.name} />
            <div className="actions">
              <a className="button" href={file.url} download={file.name}>
                <Download size={16} aria-hidden />
                Download
              </a>
            </div>
          </div>
        </Dialog>
      )}
    </>
  );
}
