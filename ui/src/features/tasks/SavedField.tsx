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

/** A field that is saved when it is left, or by Enter. What could not be saved stays typed. */
export function SavedField(props: SavedProps) {
  const { label, value, type = "text", lines = 1, hidden, isNeeded, onSave } = props;
  const id = useId();
  const [text, setText] = useState(value);
  const save = () => {
    const wanted = text.trim();
    if (wanted === value) return;
    if (isNeeded && !wanted) return setText(value);
    void onSave(wanted);
  };
  const field = {
    id,
    className: "input",
    value: text,
    placeholder: props.placeholder,
    onChange: ({ target }: { target: { value: string } }) => setText(target.value),
    onBlur: save,
    onKeyDown: (event: React.KeyboardEvent) => {
      if (event.key === "Escape" && text !== value) {
        event.stopPropagation();
        setText(value);
      }
      if (event.key === "Enter" && (lines === 1 || event.ctrlKey || event.metaKey)) save();
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
