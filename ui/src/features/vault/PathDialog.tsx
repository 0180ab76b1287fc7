import { type FormEvent, useState } from "react";
import { asProblem } from "../../api/client";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { Field } from "../../kit/Field";
import { Select } from "../../kit/Select";
import { titleOf } from "./treeRows";

type PathProps = {
  title: string;
  label: string;
  action: string;
  value: string;
  hint: string;
  /** It is a folder's: it has no ending. */
  isFolder?: boolean;
  mayBeEmpty?: boolean;
  /** Pages that the new one can be made from. */
  templates?: readonly string[];
  /** Does it; what it throws is told here, and what was typed stays. */
  onDone: (path: string, template: string | null) => Promise<void>;
  onClose: () => void;
};

/** Asks where a page should stand. */
export function PathDialog(props: PathProps) {
  const { title, label, action, value, hint, templates = [], onDone, onClose } = props;
  const [path, setPath] = useState(value);
  const [template, setTemplate] = useState("");
  const [why, setWhy] = useState("");
  const [busy, setBusy] = useState(false);
  const typed = path.trim().replace(/^\/+/, "");
  const name = props.isFolder ? typed.replace(/\/+$/, "") : typed;
  const isFit = Boolean(name) || props.mayBeEmpty;
  const done = async (event: FormEvent) => {
    event.preventDefault();
    if (!isFit || busy) return;
    setBusy(true);
    try {
      const isWhole = props.isFolder || /\.md$/i.test(name);
      await onDone(isWhole ? name : `${name}.md`, template || null);
    } catch (error) {
      const problem = asProblem(error);
      setWhy(problem.detail || problem.title);
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form className="body" onSubmit={(event) => void done(event)}>
        <label className="field">
          {label}
          <input
            data-first
            className="input"
            value={path}
            spellCheck={false}
            autoCapitalize="none"
            aria-describedby="path-hint"
            aria-invalid={why ? true : undefined}
            onChange={(event) => {
              setPath(event.target.value);
              setWhy("");
            }}
          />
        </label>
        <p id="path-hint" className="small" role={why ? "alert" : undefined}>
          {why || hint}
        </p>
        {templates.length > 0 && (
          <Field label={t("Template")}>
            {({ id }) => (
              <Select
                id={id}
                look="wide"
                value={template}
                options={[
                  { value: "", label: t("None") },
                  ...templates.map((one) => ({ value: one, label: titleOf(one) })),
                ]}
                onChange={setTemplate}
              />
            )}
          </Field>
        )}
        <div className="actions">
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button look="primary" type="submit" disabled={!isFit || busy}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
