import { type FormEvent, type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import type { Variable } from "../../services/promptText";
import styles from "./PromptFill.module.css";

type FillProps = {
  name: string;
  variables: readonly Variable[];
  onDone: (values: Readonly<Record<string, string>>) => void;
  onCancel: () => void;
};

/** Asks for what a prompt leaves open, where the message is written. */
export function PromptFill({ name, variables, onDone, onCancel }: FillProps) {
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const form = useRef<HTMLFormElement>(null);
  const heading = useId();
  const missing = variables.filter((one) => one.default === null && !values[one.name]?.trim());
  useEffect(() => form.current?.querySelector("input")?.focus(), []);
  const done = (event?: FormEvent) => {
    event?.preventDefault();
    if (missing.length) form.current?.querySelector<HTMLElement>("input:invalid")?.focus();
    else onDone(values);
  };
  const press = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    onCancel();
  };
  return (
    <form
      ref={form}
      className={styles.fill}
      aria-labelledby={heading}
      onSubmit={done}
      onKeyDown={press}
    >
      <p id={heading} className={styles.name}>
        {name}
      </p>
      <div className={styles.fields}>
        {variables.map((variable) => (
          <VariableField
            key={variable.name}
            variable={variable}
            value={values[variable.name] ?? ""}
            onChange={(value) => setValues({ ...values, [variable.name]: value })}
          />
        ))}
      </div>
      <div className="actions">
        <Button onClick={onCancel}>{t("Cancel")}</Button>
        <Button look="primary" type="submit">
          {t("Insert")}
        </Button>
      </div>
    </form>
  );
}

type FieldProps = { variable: Variable; value: string; onChange: (value: string) => void };

function VariableField({ variable, value, onChange }: FieldProps) {
  return (
    <label className="field">
      {variable.name.replaceAll("_", " ")}
      <input
        className="input"
        required={variable.default === null}
        value={value}
        maxLength={4000}
        autoComplete="off"
        placeholder={variable.default ?? undefined}
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
  );
}
