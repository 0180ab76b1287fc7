import type { Schedule } from "../../api/schedules";
import { t } from "../../i18n";
import { SelectField } from "../../kit/Select";
import type { ScheduleForm } from "./scheduleForm";

type FieldsProps = { form: ScheduleForm; onChange: (patch: Partial<ScheduleForm>) => void };

const channels: readonly { value: Schedule["channels"][number]; label: string }[] = [
  { value: "page", label: t("This page") },
  { value: "push", label: t("Browser notification") },
  { value: "email", label: t("E-mail") },
  { value: "webhook", label: t("Webhook") },
];

/** What few need: a title of its own, where it is told, what becomes of it while Bethink is off. */
export function MoreFields({ form, onChange }: FieldsProps) {
  const tell = (channel: Schedule["channels"][number], on: boolean) =>
    onChange({
      channels: on ? [...form.channels, channel] : form.channels.filter((each) => each !== channel),
    });
  return (
    <details>
      <summary>{t("More")}</summary>
      <div className="body">
        <label className="field">
          {t("Title")}
          <input
            className="input"
            maxLength={160}
            placeholder={t("Its first words")}
            value={form.title}
            onChange={({ target }) => onChange({ title: target.value })}
          />
        </label>
        <SelectField
          label={t("If Bethink was off at that time")}
          value={form.missed}
          options={[
            { value: "once", label: t("Do it once, and say that it is late") },
            { value: "skip", label: t("Leave it out") },
          ]}
          onChange={(missed) => onChange({ missed })}
        />
        <fieldset className="choices inline">
          <legend>{t("Tell me by (none chosen: everywhere that is set up)")}</legend>
          {channels.map(({ value, label }) => (
            <label key={value}>
              <input
                type="checkbox"
                checked={form.channels.includes(value)}
                onChange={({ target }) => tell(value, target.checked)}
              />
              {label}
            </label>
          ))}
        </fieldset>
        {form.action === "run" && (
          <label className="field">
            {t("Tokens that one run may use")}
            <input
              type="number"
              className="input"
              min={1}
              placeholder={t("As every answer")}
              value={form.budget}
              onChange={({ target }) => onChange({ budget: target.value })}
            />
          </label>
        )}
      </div>
    </details>
  );
}
