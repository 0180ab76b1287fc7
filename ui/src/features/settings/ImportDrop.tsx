import { FileUp } from "lucide-react";
import { type DragEvent, useRef, useState } from "react";
import { asProblem, type Problem } from "../../api/client";
import { uploadExport } from "../../api/upload";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { ProblemNotice } from "../../kit/pieces";
import styles from "./Import.module.css";

type Going = { name: string; gone: number; abort: AbortController };

/** Where an export is dropped or chosen; tells how far its upload is. */
export function ImportDrop({ onUploaded }: { onUploaded: () => Promise<void> }) {
  const picker = useRef<HTMLInputElement>(null);
  const [going, setGoing] = useState<Going | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [over, setOver] = useState(false);
  const last = useRef(Promise.resolve());
  const send = async (file: File) => {
    const abort = new AbortController();
    setProblem(null);
    setGoing({ name: file.name, gone: 0, abort });
    const onProgress = (gone: number) => setGoing((now) => now && { ...now, gone });
    try {
      await uploadExport(file, { onProgress, signal: abort.signal });
      await onUploaded();
    } catch (error) {
      if (!abort.signal.aborted) setProblem(asProblem(error));
    } finally {
      setGoing(null);
    }
  };
  // One after the other: what is given while another goes up waits for it.
  const add = (files: Iterable<File>) => {
    for (const file of files) last.current = last.current.then(() => send(file));
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    add(event.dataTransfer.files);
  };
  return (
    <section
      className={`${styles.drop} ${over ? styles.over : ""}`}
      aria-label={t("Upload an export")}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <input
        ref={picker}
        type="file"
        hidden
        accept=".zip,.json,.md,.markdown"
        aria-label={t("An export")}
        onChange={({ target }) => {
          add(target.files ?? []);
          // The same file can be chosen again.
          target.value = "";
        }}
      />
      {going ? (
        <div className={styles.going} role="status">
          <span>{t("Uploading {name}", { name: going.name })}</span>
          <progress
            max={1}
            value={going.gone}
            aria-label={t("Uploading {name}", { name: going.name })}
          />
          <Button onClick={() => going.abort.abort()}>{t("Cancel")}</Button>
        </div>
      ) : (
        <>
          <Button look="primary" icon={FileUp} onClick={() => picker.current?.click()}>
            {t("Choose an export")}
          </Button>
          <span className={styles.note}>{t("or drop it here")}</span>
        </>
      )}
      {problem && <ProblemNotice problem={problem} />}
    </section>
  );
}
