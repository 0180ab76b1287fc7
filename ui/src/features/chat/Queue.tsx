import { CircleAlert, RotateCw, X } from "lucide-react";
import { IconButton } from "../../kit/Button";
import type { Session } from "../../run/session";
import type { Upload } from "../../run/uploads";
import type { SessionView } from "../../run/view";
import { stateOf } from "./UploadChips";

type QueueProps = {
  session: Session;
  view: SessionView;
  uploads: readonly Upload[];
  onPut: (text: string) => void;
};

/** A file for which a message waits: how far it is, or what went wrong. */
function WaitedFor({ one, session }: { one: Upload; session: Session }) {
  if (!one.problem) {
    return <span>{one.file ? one.name : `${one.name}: ${stateOf(one).toLowerCase()}`}</span>;
  }
  return (
    <>
      <span className="fault" role="alert">
        <CircleAlert size={14} aria-hidden /> {one.name}: {stateOf(one)}
      </span>
      <IconButton
        icon={RotateCw}
        size={14}
        label={`Try again: ${one.name}`}
        onClick={() => session.uploads.retry(one.key)}
      />
    </>
  );
}

/** Messages that wait for the present answer to end, or for their files to be there. */
export function Queue({ session, view, uploads, onPut }: QueueProps) {
  const { queue, running } = view;
  if (!queue.length) return null;
  const when = running ? "Sent when this answer ends" : "Sent when the files are there";
  return (
    <ul className="queue" aria-label={when}>
      {queue.map(({ text, waits }, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two queued messages may be the same
        <li key={`${i} ${text}`}>
          <span>Next</span>
          <button
            type="button"
            className="clip"
            title="Edit"
            onClick={() => onPut(session.unqueue(i))}
          >
            {text}
          </button>
          {uploads
            .filter(({ key }) => waits.includes(key))
            .map((one) => (
              <WaitedFor key={one.key} one={one} session={session} />
            ))}
          <IconButton
            icon={X}
            size={14}
            label={`Do not send: ${text}`}
            onClick={() => session.unqueue(i)}
          />
        </li>
      ))}
    </ul>
  );
}
