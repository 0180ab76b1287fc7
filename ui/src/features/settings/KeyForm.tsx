import { type FormEvent, useId, useState } from "react";
import { api, asProblem } from "../../api/client";
import type { KeyMade } from "../../api/types";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { SelectField } from "../../kit/Select";
import styles from "./Keys.module.css";
import { endOf, lives, type Scope, scopes } from "./keyWords";

type KeyFormProps = {
  rights: readonly string[];
  onMade: (key: KeyMade) => void;
  onClose: () => void;
};

/** Makes a key that may no more than who makes it. */
export function KeyForm({ rights, onMade, onClose }: KeyFormProps) {
  const offered = scopes().filter(({ scope }) => rights.includes(scope));
  const [given, setGiven] = useState<readonly Scope[]>(
    offered.filter(({ usual }) => usual).map(({ scope }) => scope),
  );
  const [name, setName] = useState("");
  const [days, setDays] = useState<number | null>(90);
  const [fault, setFault] = useState("");
  const [busy, setBusy] = useState(false);
  const id = useId();
  const ready = name.trim() !== "" && given.length > 0 && !busy;
  const make = async (event: FormEvent) => {
    event.preventDefault();
    if (!ready) return;
    setBusy(true);
    try {
      onMade(await api.makeKey({ name: name.trim(), scopes: given, expires_at: endOf(days) }));
    } catch (error) {
      setFault(asProblem(error).detail || asProblem(error).title);
      setBusy(false);
    }
  };
  return (
    <Dialog title={t("Create a key")} onClose={onClose}>
      <form className="body" onSubmit={(event) => void make(event)}>
        <label className="field">
          {t("What it is for")}
          <input
            className="input"
            data-first
            maxLength={100}
            placeholder={t("Laptop")}
            autoComplete="off"
            required
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </label>
        <fieldset className={styles.checks}>
          <legend>{t("Permissions")}</legend>
          {offered.map(({ scope, allows }) => (
            <label key={scope}>
              <input
                type="checkbox"
                checked={given.includes(scope)}
                aria-describedby={`${id}-${scope}`}
                onChange={({ target }) =>
                  setGiven(
                    target.checked ? [...given, scope] : given.filter((each) => each !== scope),
                  )
                }
              />
              <strong>{scope}</strong>
              <span id={`${id}-${scope}`}>{allows}</span>
            </label>
          ))}
        </fieldset>
        <SelectField
          label={t("It expires")}
          value={String(days ?? "")}
          options={lives().map((life) => ({ value: String(life.days ?? ""), label: life.words }))}
          onChange={(next) => setDays(next ? Number(next) : null)}
        />
        <p role="alert" className={styles.fault}>
          {fault}
        </p>
        <div className="actions">
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button look="primary" type="submit" disabled={!ready}>
            {t("Create")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
