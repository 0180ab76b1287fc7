import { type FormEvent, useState } from "react";
import { objectIn } from "../../answer/parts";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import styles from "./EditArguments.module.css";

type EditProps = {
  text: string;
  busy: boolean;
  onSave: (changed: Record<string, unknown>) => void;
  onBack: () => void;
};

const written = (value: unknown) =>
  typeof value === "string" ? value : JSON.stringify(value, null, 2);

/** What was typed as a value of the same kind as before: text stays text, the rest is JSON. */
function readAs(before: unknown, typed: string): { value?: unknown; wrong?: string } {
  if (typeof before === "string") return { value: typed };
  try {
    return { value: JSON.parse(typed) };
  } catch {
    return { wrong: t("This is not valid JSON. Put text in double quotes.") };
  }
}

/** A field for each argument of a call. */
export function EditArguments({ text, busy, onSave, onBack }: EditProps) {
  const before = objectIn(text) ?? {};
  const [typed, setTyped] = useState(() =>
    Object.fromEntries(Object.entries(before).map(([name, value]) => [name, written(value)])),
  );
  const [wrong, setWrong] = useState<Record<string, string>>({});
  const save = (event: FormEvent) => {
    event.preventDefault();
    const read = Object.entries(before).map(
      ([name, value]) => [name, readAs(value, typed[name] ?? "")] as const,
    );
    const faults = read.flatMap(([name, { wrong: fault }]) => (fault ? [[name, fault]] : []));
    setWrong(Object.fromEntries(faults));
    if (!faults.length) {
      onSave(Object.fromEntries(read.map(([name, { value }]) => [name, value])));
    }
  };
  return (
    <form className={styles.form} onSubmit={save}>
      {Object.keys(before).map((name, i) => (
        <label key={name} className="field">
          {name.replaceAll("_", " ")}
          <textarea
            className={`input ${typeof before[name] === "string" ? "" : styles.json}`}
            // biome-ignore lint/a11y/noAutofocus: whoever asked to edit wants to write
            autoFocus={i === 0}
            rows={Math.min(12, Math.max(1, (typed[name] ?? "").split("\n").length))}
            value={typed[name]}
            aria-invalid={name in wrong}
            onChange={(event) => setTyped({ ...typed, [name]: event.target.value })}
          />
          {wrong[name] && <span role="alert">{wrong[name]}</span>}
        </label>
      ))}
      <div className="actions">
        <Button disabled={busy} onClick={onBack}>
          {t("Back")}
        </Button>
        <Button look="primary" type="submit" disabled={busy}>
          {t("Approve with changes")}
        </Button>
      </div>
    </form>
  );
}
