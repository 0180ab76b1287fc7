import { type FormEvent, useId, useState } from "react";
import type { Memory, MemoryDraft } from "../../api/types";
import { Button } from "../../kit/Button";
import { categories } from "./words";

type MemoryFormProps = {
  memory?: Memory;
  onSave: (draft: MemoryDraft) => Promise<boolean>;
  onClose: () => void;
};

const USUAL_IMPORTANCE = 0.5;

/** Writes a new memory, or corrects one: the earlier words are then kept as history. */
export function MemoryForm({ memory, onSave, onClose }: MemoryFormProps) {
  const [content, setContent] = useState(memory?.content ?? "");
  const [category, setCategory] = useState(memory?.category ?? "");
  const [importance, setImportance] = useState(memory?.importance ?? USUAL_IMPORTANCE);
  const [saving, setSaving] = useState(false);
  const known = useId();
  const save = async (event?: FormEvent) => {
    event?.preventDefault();
    if (!content.trim() || saving) return;
    setSaving(true);
    const draft: MemoryDraft = { content: content.trim(), importance };
    if (category.trim()) draft.category = category.trim();
    if (await onSave(draft)) onClose();
    else setSaving(false);
  };
  return (
    <form
      className="memory-form"
      aria-label={memory ? "Correct this memory" : "Add a memory"}
      onSubmit={(event) => void save(event)}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
        if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) void save();
      }}
    >
      <label className="field">
        {memory ? "Corrected text" : "What should be remembered"}
        <textarea
          className="input"
          // biome-ignore lint/a11y/noAutofocus: the form was opened to write in it
          autoFocus
          rows={2}
          maxLength={4000}
          value={content}
          onChange={(event) => setContent(event.target.value)}
        />
      </label>
      <div className="line">
        <label className="field">
          Category
          <input
            className="input"
            list={known}
            value={category}
            placeholder="None"
            onChange={(event) => setCategory(event.target.value)}
          />
          <datalist id={known}>
            {Object.entries(categories).map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </datalist>
        </label>
        <label className="field">
          Importance
          <input
            type="range"
            min={0}
            max={1}
            step={0.1}
            value={importance}
            onChange={(event) => setImportance(Number(event.target.value))}
          />
        </label>
        <div className="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" disabled={!content.trim() || saving}>
            {memory ? "Save" : "Remember"}
          </Button>
        </div>
      </div>
    </form>
  );
}
