// Model files that Bethink runs itself: one is downloaded or named where it lies, and then used.
import { type FormEvent, useId, useState } from "react";
import type { ModelFile, Provider } from "../../../api/settings";
import { t } from "../../../i18n";
import { Button } from "../../../kit/Button";
import { Notice, ProblemNotice } from "../../../kit/pieces";
import { Told } from "../words";
import { ModelFileRow } from "./ModelFileRow";
import styles from "./ModelFiles.module.css";
import { isAddress, useModelFiles } from "./useModelFiles";

type FilesProps = {
  provider: Provider;
  isSaving: boolean;
  onUse: (file: ModelFile) => void;
};

export function ModelFiles({ provider, isSaving, onUse }: FilesProps) {
  const { files, unread, read, problem, add, remove } = useModelFiles();
  const [source, setSource] = useState("");
  const [isAdding, setIsAdding] = useState(false);
  const id = useId();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!source.trim() || isAdding) return;
    setIsAdding(true);
    if (await add(source)) setSource("");
    setIsAdding(false);
  };
  return (
    <section className={styles.files} aria-labelledby={id}>
      <h3 id={id}>{t("A file that Bethink runs itself")}</h3>
      {provider.missing && (
        <Notice tone="ask">
          <span>
            <Told text={provider.missing} />
          </span>
        </Notice>
      )}
      <form className={styles.add} onSubmit={(event) => void submit(event)}>
        <label className="field">
          {t("Web address or path of a GGUF file")}
          <input
            className="input"
            spellCheck={false}
            autoComplete="off"
            autoCapitalize="off"
            placeholder="https://huggingface.co/…/model.gguf"
            aria-describedby={`${id}-where`}
            value={source}
            onChange={(event) => setSource(event.target.value)}
          />
        </label>
        <Button type="submit" disabled={!source.trim() || isAdding}>
          {!source.trim() || isAddress(source) ? t("Download") : t("Add")}
        </Button>
      </form>
      <small id={`${id}-where`}>
        {t("A file that is on this machine already stays where it is.")}
      </small>
      {problem && <ProblemNotice problem={problem} />}
      {unread && !files && <ProblemNotice problem={unread} onRetry={() => void read()} />}
      {files && files.length > 0 && (
        <ul className={styles.list} aria-label={t("Model files")}>
          {files.map((file) => (
            <ModelFileRow
              key={file.id}
              file={file}
              canUse={!provider.missing && !isSaving}
              onUse={() => onUse(file)}
              onAgain={() => add(file.source)}
              onRemove={() => remove(file)}
            />
          ))}
        </ul>
      )}
    </section>
  );
}
