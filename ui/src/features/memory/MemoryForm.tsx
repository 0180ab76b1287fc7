import { type FormEvent, useState } from "react";
import type { Memory, MemoryDraft, MemoryPatch } from "../../api/types";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Combobox } from "../../kit/Combobox";
import { Field, SegmentedField } from "../../kit/Field";
import styles from "./memory.module.css";
import { categoryName, personName, taught } from "./words";

type MemoryFormProps = {
  memory?: Memory;
  onSave: (draft: MemoryDraft & Pick<MemoryPatch, "wrong">) => Promise<boolean>;
  onClose: () => void;
};

const USUAL_IMPORTANCE = 0.5;
const grades = [
  { value: "0.2", label: () => t("Low") },
  { value: "0.5", label: () => t("Usual") },
  { value: "0.8", label: () => t("High") },
  { value: "1", label: () => t("Always recalled") },
];
const nearest = (importance: number) =>
  grades
    .map(({ value }) => value)
    .toSorted((a, b) => Math.abs(Number(a) - importance) - Math.abs(Number(b) - importance))[0] ??
  String(USUAL_IMPORTANCE);

/** The category that somebody chose or wrote: by its name, or their own. */
function categoryOf(written: string): string {
  const words = written.trim();
  return taught.find((each) => categoryName(each) === words) ?? words;
}

/** Writes a new memory, or corrects one: the earlier words are then kept as history. */
export function MemoryForm({ memory, onSave, onClose }: MemoryFormProps) {
  const [content, setContent] = useState(memory?.content ?? "");
  const [category, setCategory] = useState(memory ? categoryName(memory.category) : "");
  const [importance, setImportance] = useState(memory?.importance ?? USUAL_IMPORTANCE);
  const [about, setAbout] = useState(memory ? personName(memory.about) : "");
  const [reason, setReason] = useState("wrong");
  const [saving, setSaving] = useState(false);
  const save = async (event?: FormEvent) => {
    event?.preventDefault();
    if (!content.trim() || saving) return;
    setSaving(true);
    const draft: MemoryDraft & Pick<MemoryPatch, "wrong"> = { content: content.trim(), importance };
    if (about.trim() && (!memory || about !== personName(memory.about))) {
      draft.about = about.trim() === personName("owner") ? "owner" : about.trim();
    }
    if (memory && draft.content !== memory.content) draft.wrong = reason === "wrong";
    const chosen =
      memory && category === categoryName(memory.category) ? memory.category : categoryOf(category);
    if (chosen) draft.category = chosen;
    if (await onSave(draft)) onClose();
    else setSaving(false);
  };
  return (
    <form
      className={styles.memoryForm}
      aria-label={memory ? t("Correct this memory") : t("Add a memory")}
      onSubmit={(event) => void save(event)}
      onKeyDown={(event) => {
        if (event.key === "Escape" && !event.defaultPrevented) onClose();
        if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) void save();
      }}
    >
      <Field label={memory ? t("Corrected text") : t("What should be remembered")}>
        {(control) => (
          <textarea
            {...control}
            className="input"
            // biome-ignore lint/a11y/noAutofocus: the form was opened to write in it
            autoFocus
            rows={3}
            maxLength={8000}
            value={content}
            onChange={(event) => setContent(event.target.value)}
          />
        )}
      </Field>
      {memory && content.trim() !== memory.content && (
        <SegmentedField
          label={t("Why it is rewritten")}
          value={reason}
          options={[
            { value: "wrong", label: t("It was wrong") },
            { value: "changed", label: t("It has changed") },
          ]}
          onChange={setReason}
        />
      )}
      <Field label={t("Who or what it is about")}>
        {(control) => (
          <input
            {...control}
            className="input"
            maxLength={64}
            value={about}
            placeholder={t("Read from the text")}
            onChange={(event) => setAbout(event.target.value)}
          />
        )}
      </Field>
      <Field label={t("Category")}>
        {({ id }) => (
          <Combobox
            id={id}
            value={category}
            placeholder={t("None")}
            options={taught.map(categoryName)}
            onChange={setCategory}
          />
        )}
      </Field>
      <SegmentedField
        label={t("Importance")}
        value={nearest(importance)}
        options={grades.map(({ value, label }) => ({ value, label: label() }))}
        onChange={(value) => setImportance(Number(value))}
      />
      <div className={styles.formActions}>
        <Button onClick={onClose}>{t("Cancel")}</Button>
        <Button look="primary" type="submit" disabled={!content.trim() || saving}>
          {memory ? t("Save") : t("Remember")}
        </Button>
      </div>
    </form>
  );
}
