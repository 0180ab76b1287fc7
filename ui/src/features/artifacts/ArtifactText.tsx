import { useState } from "react";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import css from "./artifacts.module.css";

type TextProps = {
  title: string;
  text: string;
  /** Keeps a text as the next version; null where it is only read. */
  onSave: ((text: string) => Promise<void>) | null;
};

/** The text of an artifact, to be read and to be changed. */
export function ArtifactText({ title, text, onSave }: TextProps) {
  const [draft, setDraft] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const isChanged = draft !== null && draft !== text;
  const save = async () => {
    if (!isChanged || !onSave) return;
    setBusy(true);
    await onSave(draft);
    setBusy(false);
  };
  return (
    <div className={css.editor}>
      <textarea
        aria-label={t("Text of {title}", { title })}
        value={draft ?? text}
        readOnly={!onSave}
        spellCheck={false}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "s" && (event.metaKey || event.ctrlKey)) {
            event.preventDefault();
            void save();
          }
        }}
      />
      {isChanged && (
        <div className={css.actions}>
          <Button look="quiet" disabled={busy} onClick={() => setDraft(null)}>
            {t("Discard changes")}
          </Button>
          <Button look="primary" disabled={busy} onClick={() => void save()}>
            {t("Save as version")}
          </Button>
        </div>
      )}
    </div>
  );
}
