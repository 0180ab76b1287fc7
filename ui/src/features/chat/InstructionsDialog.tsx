import { type FormEvent, useId, useState } from "react";
import { asProblem, type Problem } from "../../api/client";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { ProblemNotice } from "../../kit/pieces";
import type { Chosen, Session } from "../../run/session";
import type { SessionView } from "../../run/view";
import { useApp } from "../../services/context";

const MAX_SYSTEM_CHARS = 20_000;

/** What this conversation has of its own, chosen before or after it is made. */
export function chosenIn({ conversation, begin }: SessionView): Chosen {
  const { model, system } = conversation ?? begin;
  return { model: model ?? null, system: system ?? "" };
}

type DialogProps = { session: Session; view: SessionView; onClose: () => void };

/** What the model is told in this conversation beside Bethink's own prompt. */
export function InstructionsDialog({ session, view, onClose }: DialogProps) {
  const { toasts } = useApp();
  const before = chosenIn(view);
  const [system, setSystem] = useState(before.system);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [saving, setSaving] = useState(false);
  const hint = useId();
  const save = async (event: FormEvent) => {
    event.preventDefault();
    setSaving(true);
    try {
      await session.settle({ model: before.model, system: system.trim() });
      toasts.show(t("Applies from the next message"));
      onClose();
    } catch (error) {
      setProblem(asProblem(error));
      setSaving(false);
    }
  };
  return (
    <Dialog title={t("Instructions for this conversation")} onClose={onClose}>
      <form className="body" onSubmit={save}>
        {problem && <ProblemNotice problem={problem} />}
        <textarea
          className="input"
          rows={8}
          value={system}
          maxLength={MAX_SYSTEM_CHARS}
          aria-label={t("Instructions for this conversation")}
          aria-describedby={hint}
          placeholder={t("For example: Answer in French, and keep it short.")}
          onChange={(event) => setSystem(event.target.value)}
        />
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
