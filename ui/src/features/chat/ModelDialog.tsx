import { type FormEvent, useId, useState } from "react";
import { asProblem, type Problem } from "../../api/client";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { ProblemNotice } from "../../kit/pieces";
import type { Chosen, Session } from "../../run/session";
import type { SessionView } from "../../run/view";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";

const MAX_SYSTEM_CHARS = 20_000;

/** What this conversation has of its own, chosen before or after it is made. */
export function chosenIn({ conversation, begin }: SessionView): Chosen {
  const { model, system } = conversation ?? begin;
  return { model: model ?? null, system: system ?? "" };
}

/** Which model answers in this conversation, and what it is told beside Bethink's own prompt. */
export function ModelDialog(props: { session: Session; view: SessionView; onClose: () => void }) {
  const { session, view, onClose } = props;
  const { health, toasts } = useApp();
  const { settings } = useStore(health.store);
  const before = chosenIn(view);
  const [model, setModel] = useState(before.model ?? "");
  const [system, setSystem] = useState(before.system);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [saving, setSaving] = useState(false);
  const hint = useId();
  const usual = settings?.model ?? null;
  const offered = settings?.models ?? [];
  const others = offered.filter((name) => name !== usual);
  // One that was chosen and is offered no longer stays visible, so that it can be exchanged.
  const isAssistant = before.model !== null && !before.model.includes(":");
  const gone =
    before.model && !isAssistant && before.model !== usual && !offered.includes(before.model);
  const save = async (event: FormEvent) => {
    event.preventDefault();
    setSaving(true);
    try {
      await session.settle({ model: model || null, system: system.trim() });
      toasts.show(t("Applies from the next message"));
      onClose();
    } catch (error) {
      setProblem(asProblem(error));
      setSaving(false);
    }
  };
  return (
    <Dialog title={t("Model and instructions")} onClose={onClose}>
      <form className="body" onSubmit={save}>
        {problem && <ProblemNotice problem={problem} />}
        <label className="field">
          {t("Model")}
          <select
            className="input"
            value={model}
            onChange={(event) => setModel(event.target.value)}
          >
            <option value="">
              {usual ? t("{model} (default)", { model: usual }) : t("Default")}
            </option>
            {others.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
            {isAssistant && before.model && <option value={before.model}>{before.model}</option>}
            {gone && before.model && (
              <option value={before.model}>
                {t("{model} (no longer available)", { model: before.model })}
              </option>
            )}
          </select>
        </label>
        {!others.length && !gone && (
          <p className="small">
            {t("Only one model is set up. Add more in the settings to choose here.")}
          </p>
        )}
        <label className="field">
          {t("Instructions for this conversation")}
          <textarea
            className="input"
            rows={6}
            value={system}
            maxLength={MAX_SYSTEM_CHARS}
            aria-describedby={hint}
            placeholder={t("For example: Answer in French, and keep it short.")}
            onChange={(event) => setSystem(event.target.value)}
          />
        </label>
        <p id={hint} className="small">
          {t(
            "The model gets this in addition to Bethink’s own instructions. It is not part of the messages.",
          )}
        </p>
        <div className="actions">
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button look="primary" type="submit" disabled={saving}>
            {t("Save")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
