import { type FormEvent, type ReactNode, useState } from "react";
import { asProblem } from "../../api/client";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";

type FieldProps = {
  title: string;
  label: string;
  action: string;
  value?: string;
  hint?: string;
  lines?: number;
  /** What may be left empty. */
  optional?: boolean;
  children?: ReactNode;
  /** Does it; what it throws is told here, and what was typed stays. */
  onDone: (text: string) => Promise<void>;
  onClose: () => void;
};

/** Asks for one line, or a text. */
export function FieldDialog(props: FieldProps) {
  const { title, label, action, hint = "", lines = 1, optional = false, onDone, onClose } = props;
  const [text, setText] = useState(props.value ?? "");
  const [why, setWhy] = useState("");
  const [busy, setBusy] = useState(false);
  const isReady = (optional || text.trim() !== "") && !busy;
  const done = async (event: FormEvent) => {
    event.preventDefault();
    if (!isReady) return;
    setBusy(true);
    try {
      await onDone(text.trim());
      onClose();
    } catch (error) {
      const problem = asProblem(error);
      setWhy(problem.detail || problem.title);
      setBusy(false);
    }
  };
  const field = {
    id: "field-text",
    "data-first": true,
    className: "input",
    value: text,
    "aria-describedby": "field-hint",
    "aria-invalid": why ? true : undefined,
    onChange: ({ target }: { target: { value: string } }) => {
      setText(target.value);
      setWhy("");
    },
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form className="body" onSubmit={(event) => void done(event)}>
        <div className="field">
          <label htmlFor="field-text">{label}</label>
          {lines > 1 ? <textarea {...field} rows={lines} /> : <input {...field} />}
        </div>
        {props.children}
        <p id="field-hint" className="small" role={why ? "alert" : undefined}>
          {why || hint}
        </p>
        <div className="actions">
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button look="primary" type="submit" disabled={!isReady}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
