import { type FormEvent, useState } from "react";
import type { Problem } from "../../api/client";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Combobox } from "../../kit/Combobox";
import { Dialog } from "../../kit/Dialog";
import { Field } from "../../kit/Field";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";
import type { Assistant } from "./Assistants";
import { faultOf } from "./useSettings";

type DialogProps = {
  /** Empty for a new one. */
  name: string;
  assistant: Assistant;
  taken: readonly string[];
  onClose: () => void;
  onSave: (name: string, assistant: Assistant) => Promise<Problem | null>;
};

export function AssistantDialog({ name, assistant, taken, onClose, onSave }: DialogProps) {
  const { health } = useApp();
  const { settings } = useStore(health.store);
  const offered = settings?.models ?? [];
  const [fault, setFault] = useState("");
  const [busy, setBusy] = useState(false);
  const [model, setModel] = useState(assistant.model ?? "");
  const [tools, setTools] = useState(assistant.tools ?? true);
  const [memory, setMemory] = useState(assistant.memory ?? true);
  const save = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget);
    const text = (key: string) => String(given.get(key) ?? "").trim();
    if (taken.includes(text("name"))) {
      setFault(t("There is an assistant of this name already."));
      return;
    }
    setBusy(true);
    const problem = await onSave(text("name"), {
      model: model.trim() || null,
      system: text("system"),
      tools,
      memory,
    });
    setBusy(false);
    if (problem) setFault(faultOf(problem, "assistants"));
    else onClose();
  };
  return (
    <Dialog
      title={name ? t("Edit {name}", { name }) : t("Add an assistant")}
      className="wide"
      onClose={onClose}
    >
      <form className="body" onSubmit={(event) => void save(event)}>
        <label className="field">
          {t("Name")}
          <input
            className="input"
            name="name"
            data-first
            required
            maxLength={64}
            autoComplete="off"
            defaultValue={name}
          />
        </label>
        <label className="field">
          {t("Instructions")}
          <textarea
            className="input"
            name="system"
            rows={6}
            maxLength={20_000}
            placeholder={t("What it is for, how it answers, what it must not do.")}
            defaultValue={assistant.system ?? ""}
          />
        </label>
        <Field label={t("Model")}>
          {({ id }) => (
            <Combobox
              id={id}
              value={model}
              options={offered}
              placeholder={settings?.model || t("The usual model")}
              onChange={setModel}
            />
          )}
        </Field>
        <Right label={t("It may use tools")} on={tools} onTurn={setTools} />
        <Right label={t("It uses your memory")} on={memory} onTurn={setMemory} />
        <p role="alert" className="form-fault">
          {fault}
        </p>
        <div className="actions">
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button look="primary" type="submit" disabled={busy}>
            {t("Save")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function Right(props: { label: string; on: boolean; onTurn: (on: boolean) => void }) {
  return (
    <label className="setting">
      <span>{props.label}</span>
      <input
        type="checkbox"
        role="switch"
        className="switch"
        checked={props.on}
        aria-checked={props.on}
        onChange={(event) => props.onTurn(event.target.checked)}
      />
    </label>
  );
}
