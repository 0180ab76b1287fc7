// A filter in words: told to the model, and relied on by nobody.

import { type FormEvent, useState } from "react";
import { asProblem } from "../../api/client";
import { vaultApi } from "../../api/vault";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import styles from "./Filters.module.css";

export function AskModel({ onAdded }: { onAdded: () => Promise<void> }) {
  const [text, setText] = useState("");
  const [why, setWhy] = useState("");
  const [busy, setBusy] = useState(false);
  const add = async (event: FormEvent) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    try {
      await vaultApi.addFilter({
        text,
        action: "hide",
        audiences: [],
        path: "",
        section: "",
        field: "",
        pattern: "",
      });
      setText("");
      setWhy("");
      await onAdded();
    } catch (error) {
      setWhy(asProblem(error).detail);
    }
    setBusy(false);
  };
  return (
    <form
      className={styles.form}
      aria-label={t("Ask the model")}
      onSubmit={(event) => void add(event)}
    >
      <h2>{t("Ask the model")}</h2>
      <p id="asked-only">
        {t(
          "This instruction is sent to every model that answers from your memory. A model may ignore it, and it hides nothing. To hide something reliably, add a filter above.",
        )}
      </p>
      <div className={styles.fields}>
        <label className="field">
          {t("Instruction")}
          <input
            className="input"
            value={text}
            maxLength={2000}
            aria-describedby="asked-only"
            placeholder={t("Do not speak of my health")}
            onChange={(event) => {
              setText(event.target.value);
              setWhy("");
            }}
          />
        </label>
      </div>
      {why && (
        <p className="why" role="alert">
          {why}
        </p>
      )}
      <div className="actions">
        <Button type="submit" disabled={!text.trim() || busy}>
          {t("Add instruction")}
        </Button>
      </div>
    </form>
  );
}
