import type { Attachment } from "../../api/types";
import type { Session } from "../../run/session";
import { type Face, faceOf } from "./attached";
import { FileChip } from "./FileChip";
import { Picture } from "./Picture";
import { TableFile } from "./TableFile";

const views: Record<Face, typeof FileChip> = {
  picture: Picture,
  table: TableFile,
  file: FileChip,
};

/** Files of a message: pictures and tables as what they are, everything else to be downloaded. */
export function AttachmentList(props: {
  files: readonly Attachment[];
  session: Session;
  label: string;
}) {
  const { files, session, label } = props;
  if (!files.length) return null;
  return (
    <ul className="attachments" aria-label={label}>
      {files.map((file) => {
        const View = views[faceOf(file)];
        return (
          <li key={file.url}>
            <View file={file} session={session} />
          </li>
        );
      })}
    </ul>
  );
}
