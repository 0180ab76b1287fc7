import { X } from "lucide-react";
import { IconButton } from "../../kit/Button";
import type { Session } from "../../run/session";
import type { Said } from "../../run/view";
import { count } from "../../services/words";

type QueueProps = { session: Session; queue: readonly Said[]; onPut: (text: string) => void };

/** Messages that wait for the present answer to end. */
export function Queue({ session, queue, onPut }: QueueProps) {
  if (!queue.length) return null;
  const takeBack = (index: number) => {
    const said = session.unqueue(index);
    if (said) session.uploads.putBack(said.files);
    return said?.text ?? "";
  };
  return (
    <ul className="queue" aria-label="Sent when this answer ends">
      {queue.map(({ text, files }, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two queued messages may be the same
        <li key={`${i} ${text}`}>
          <span>Next</span>
          <button type="button" className="clip" title="Edit" onClick={() => onPut(takeBack(i))}>
            {text}
          </button>
          {files.length > 0 && <span>{count(files.length, "file")}</span>}
          <IconButton
            icon={X}
            size={14}
            label={`Do not send: ${text}`}
            onClick={() => takeBack(i)}
          />
        </li>
      ))}
    </ul>
  );
}
