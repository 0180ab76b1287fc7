import { useId, useState } from "react";

type SavedProps = {
  label: string;
  value: string;
  type?: "text" | "date" | "time" | "number";
  lines?: number;
  placeholder?: string;
  /** Its label is for assistive technology alone. */
  hidden?: boolean;
  /** It cannot be empty: then it is as it was. */
  isNeeded?: boolean;
  onSave: (text: string) => Promise<boolean>;
};

/**
 * A field that is saved when it is left, or by Enter. What could not be saved stays typed, and so does what is
 * being typed while its value becomes another one elsewhere.
 */
export function SavedField(props: SavedProps) {
  const { label, value, type = "text", lines = 1, hidden, isNeeded, onSave } = props;
  const id = useId();
  const [text, setText] = useState(value);
  // What is known to be saved, and the text that stands for it here.
  const [known, setKnown] = useState({ value, text: value });
  if (known.value !== value) {
    setKnown({ value, text: value });
    if (text.trim() === known.text.trim()) setText(value);
  }
  const save = async () => {
    const wanted = text.trim();
    if (wanted === value || wanted === known.text) return;
    if (isNeeded && !wanted) return setText(value);
    setKnown({ value, text: wanted });
    if (!(await onSave(wanted))) setKnown((now) => ({ ...now, text: now.value }));
  };
  const field = {
    id,
    className: "input",
    value: text,
    placeholder: props.placeholder,
    onChange: ({ target }: { target: { value: string } }) => setText(target.value),
    onBlur: () => void save(),
    onKeyDown: (event: React.KeyboardEvent) => {
      if (event.key === "Escape" && text !== value) {
        event.stopPropagation();
        setText(value);
      }
      if (event.key === "Enter" && (lines === 1 || event.ctrlKey || event.metaKey)) void save();
    },
  };
  return (
    <div className="field">
      <label htmlFor={id} className={hidden ? "visually-hidden" : ""}>
        {label}
      </label>
      {lines > 1 ? <textarea {...field} rows={lines} /> : <input {...field} type={type} />}
    </div>
  );
}
