import { CircleAlert, RotateCw, X } from "lucide-react";
import { t } from "../../i18n";
import { Button, IconButton } from "../../kit/Button";
import type { Session } from "../../run/session";
import type { Upload } from "../../run/uploads";
import type { SessionView } from "../../run/view";
import styles from "./Queue.module.css";
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
      <span className={styles.fault} role="alert">
        <CircleAlert size={14} aria-hidden /> {one.name}: {stateOf(one)}
      </span>
      <IconButton
        icon={RotateCw}
        size={14}
        label={t("Try again: {name}", { name: one.name })}
        onClick={() => session.uploads.retry(one.key)}
      />
    </>
  );
}

/** Why the first of the messages that wait is not sent yet. */
function reasonOf({ queue, running, parked, status, link }: SessionView): string {
  if (running && link === "reconnecting") return t("Sent when the connection is back");
  if (running) return t("Sent when this answer ends");
  if (queue[0]?.waits.length) return t("Sent when the files are uploaded");
  if (parked) return t("Not sent, because the answer before it did not finish");
  if (status === "failed") return t("Not sent, because the conversation could not be read");
  return status === "loading" ? t("Sent when the conversation is loaded") : t("Sent in a moment");
}

/** Messages that wait, in their order, and why: for the present answer's end, or for their files. */
export function Queue({ session, view, uploads, onPut }: QueueProps) {
  const { queue, running, parked } = view;
  if (!queue.length) return null;
  const when = reasonOf(view);
  return (
    <>
      <p className={styles.reason} role="status">
        <span>{when}</span>
        {parked && !running && <Button onClick={session.sendWaiting}>{t("Send now")}</Button>}
      </p>
      <ul className={styles.queue} aria-label={when}>
        {queue.map(({ text, waits }, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two queued messages may be the same
          <li key={`${i} ${text}`}>
            <span>{t("Next")}</span>
            <button
              type="button"
              className="clip"
              title={t("Edit")}
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
              label={t("Remove from the queue: {text}", { text })}
              onClick={() => session.unqueue(i)}
            />
          </li>
        ))}
      </ul>
    </>
  );
}
