import { CircleAlert, LoaderCircle, RotateCw, X } from "lucide-react";
import { IconButton } from "../../kit/Button";
import type { Upload, Uploads } from "../../run/uploads";
import { bytes } from "../../services/words";
import { iconOf } from "./FileChip";

/** How it is with a file on its way, in words. */
export function stateOf({ file, problem, gone, size }: Upload): string {
  if (problem) return problem.detail || problem.title;
  if (file) return size ? bytes(size) : "";
  return gone < 1 ? `${Math.floor(gone * 100)} %` : "Saving";
}

function UploadChip({ one, uploads }: { one: Upload; uploads: Uploads }) {
  const going = !one.file && !one.problem;
  const Icon = one.problem ? CircleAlert : going ? LoaderCircle : iconOf(one.name);
  return (
    <li className={`upload ${one.problem ? "fault" : going ? "going" : ""}`}>
      <Icon size={16} strokeWidth={1.75} aria-hidden />
      <span className="words">
        <span className="clip">{one.name}</span>
        <small role={one.problem ? "alert" : undefined}>{stateOf(one)}</small>
      </span>
      {one.problem && (
        <IconButton
          icon={RotateCw}
          size={14}
          label={`Try again: ${one.name}`}
          onClick={() => uploads.retry(one.key)}
        />
      )}
      <IconButton
        icon={X}
        size={14}
        label={`${one.file ? "Remove" : "Cancel"}: ${one.name}`}
        onClick={() => uploads.remove(one.key)}
      />
      {going && <progress max={1} value={one.gone} aria-label={`Uploading ${one.name}`} />}
    </li>
  );
}

/** Files that the next message takes along. */
export function UploadChips({ list, uploads }: { list: readonly Upload[]; uploads: Uploads }) {
  const mine = list.filter(({ claimed }) => !claimed);
  if (!mine.length) return null;
  return (
    <ul className="uploads" aria-label="Files to send">
      {mine.map((one) => (
        <UploadChip key={one.key} one={one} uploads={uploads} />
      ))}
    </ul>
  );
}
