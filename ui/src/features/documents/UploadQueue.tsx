import { CircleAlert, Clock, LoaderCircle, RotateCw, WifiOff, X } from "lucide-react";
import { useEffect } from "react";
import { t } from "../../i18n";
import { IconButton } from "../../kit/Button";
import { useApp } from "../../services/context";
import type { DocumentUpload } from "../../services/documentUploads";
import { useStore } from "../../services/store";
import { bytes } from "../../services/words";
import styles from "./Documents.module.css";

const faces = {
  waiting: { icon: Clock, said: t("Waiting") },
  going: { icon: LoaderCircle, said: t("Uploading") },
  lost: { icon: WifiOff, said: t("Connection lost; it continues by itself") },
  failed: { icon: CircleAlert, said: "" },
} as const;

const order: readonly DocumentUpload["state"][] = ["failed", "lost", "going", "waiting"];
/** How long the receipt stays once all are there. */
const OVER_MS = 6000;
/** More would push the library out of the page. */
const SHOWN = 6;

type Left = DocumentUpload & { state: keyof typeof faces };
export const isLeft = (one: DocumentUpload): one is Left => one.state !== "done";

/** A file on its way: how far it is, and what can be done about it. */
export function UploadLine({ one }: { one: Left }) {
  const { documentUploads: uploads } = useApp();
  const { icon: Icon, said } = faces[one.state];
  const going = one.state === "going" || one.state === "lost";
  return (
    <li className={styles[one.state]}>
      <Icon size={16} aria-hidden className={one.state === "going" ? styles.turning : ""} />
      <span className="clip">{one.name}</span>
      <small role={one.problem ? "alert" : undefined}>
        {one.problem ? one.problem.detail || one.problem.title : said}
        {one.state === "going" &&
          `, ${t("{done} of {all}", { done: bytes(one.gone), all: bytes(one.size) })}`}
      </small>
      {going && (
        <progress
          max={one.size || 1}
          value={one.gone}
          aria-label={t("Uploading {name}", { name: one.name })}
        />
      )}
      {one.state === "failed" && (
        <IconButton
          icon={RotateCw}
          size={15}
          label={t("Try again: {name}", { name: one.name })}
          onClick={() => uploads.retry(one.key)}
        />
      )}
      <IconButton
        icon={X}
        size={15}
        label={`${one.state === "failed" ? t("Remove") : t("Cancel")}: ${one.name}`}
        onClick={() => uploads.remove(one.key)}
      />
    </li>
  );
}

/** Files on their way into the library: what goes, what waits, what failed. */
export function UploadQueue() {
  const { documentUploads: uploads } = useApp();
  const list = useStore(uploads.store);
  const done = list.filter(({ state }) => state === "done").length;
  const isOver = list.length > 0 && done === list.length;
  useEffect(() => {
    if (!isOver) return;
    const timer = setTimeout(uploads.clear, OVER_MS);
    return () => clearTimeout(timer);
  }, [isOver, uploads]);
  if (!list.length) return null;
  const left = list.filter(isLeft);
  const sorted = left.toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  const rest = sorted.length - SHOWN;
  return (
    <section className={styles.uploads} aria-label={t("Uploads")}>
      <header>
        <h2>
          <span role="status">
            {isOver
              ? t("{count} uploaded", {
                  count: t("{count, plural, one {# file} other {# files}}", { count: done }),
                })
              : t("{done} of {count} uploaded", {
                  done,
                  count: t("{count, plural, one {# file} other {# files}}", { count: list.length }),
                })}
          </span>
        </h2>
      </header>
      <ul>
        {sorted.slice(0, SHOWN).map((one) => (
          <UploadLine key={one.key} one={one} />
        ))}
      </ul>
      {rest > 0 && (
        <p className={styles.note}>
          {t("and {count}", {
            count: t("{count, plural, one {# more file} other {# more files}}", { count: rest }),
          })}
        </p>
      )}
    </section>
  );
}
