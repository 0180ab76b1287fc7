import { type FormEvent, useState } from "react";
import { asProblem } from "../../api/client";
import type { NewSchedule, Schedule } from "../../api/schedules";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { Segmented } from "../../kit/pieces";
import { momentWords } from "../../planner/momentWords";
import { MoreFields } from "./MoreFields";
import { formOf, type ScheduleForm, sentOf } from "./scheduleForm";
import type { ScheduleChanges } from "./useScheduleChanges";
import { actions } from "./words";

type DialogProps = {
  schedule: Schedule | null;
  changes: ScheduleChanges;
  onClose: () => void;
};

const examples: Record<Schedule["action"], string> = {
  remind: t("Call Bruna back"),
  run: t("Give me my day: events, tasks and what I promised"),
  watch: t("Tell me when the dates are announced"),
};
const kinds = (Object.keys(actions) as Schedule["action"][]).map((value) => ({
  value,
  label: actions[value].label,
}));

/** A schedule to be made or changed. What fails is told here, and what was typed stays. */
export function ScheduleDialog({ schedule, changes, onClose }: DialogProps) {
  const [form, setForm] = useState(() => formOf(schedule));
  const [why, setWhy] = useState("");
  const [busy, setBusy] = useState(false);
  const change = (patch: Partial<ScheduleForm>) => {
    setForm((now) => ({ ...now, ...patch }));
    setWhy("");
  };
  const save = async (event: FormEvent) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    try {
      await changes.save(schedule, sentOf(form, !schedule) as NewSchedule);
      return onClose();
    } catch (error) {
      const problem = asProblem(error);
      setWhy(problem.detail || problem.title);
    }
    setBusy(false);
  };
  const now =
    schedule &&
    momentWords(
      { at: schedule.next_at, recurrence: schedule.recurrence },
      schedule.recurrence_words || schedule.next_words,
    );
  return (
    <Dialog
      title={schedule ? t("Change the schedule") : t("New schedule")}
      className="wide"
      onClose={onClose}
    >
      <form className="body scroll" onSubmit={(event) => void save(event)}>
        <Segmented
          label={t("What happens")}
          value={form.action}
          options={kinds}
          onChange={(action) => change({ action })}
        />
        <label className="field">
          {form.action === "run" ? t("What is to be done") : t("What to say")}
          <textarea
            className="input"
            data-first
            rows={3}
            required={form.action !== "watch"}
            placeholder={examples[form.action]}
            value={form.text}
            onChange={({ target }) => change({ text: target.value })}
          />
        </label>
        {form.action === "watch" && (
          <label className="field">
            {t("Address of the page")}
            <input
              type="url"
              className="input"
              required
              placeholder="https://"
              value={form.url}
              onChange={({ target }) => change({ url: target.value })}
            />
          </label>
        )}
        <label className="field">
          {t("When")}
          <input
            className="input"
            required={!schedule}
            placeholder={
              now ? t("As it is: {now}", { now }) : t("in 20 minutes, or every weekday at 8")
            }
            value={form.when}
            onChange={({ target }) => change({ when: target.value })}
          />
        </label>
        <MoreFields form={form} onChange={change} />
        {why && (
          <p className="why" role="alert">
            {why}
          </p>
        )}
        <div className="actions">
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button look="primary" type="submit" disabled={busy}>
            {schedule ? t("Save") : t("Add")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
