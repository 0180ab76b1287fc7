import type { Schedule } from "../../api/schedules";
import type { ScheduleForm } from "./scheduleForm";

type FieldsProps = { form: ScheduleForm; onChange: (patch: Partial<ScheduleForm>) => void };

const channels: readonly { value: Schedule["channels"][number]; label: string }[] = [
  { value: "page", label: "This page" },
  { value: "push", label: "Browser notification" },
  { value: "email", label: "E-mail" },
  { value: "webhook", label: "Webhook" },
];

/** What few need: a title of its own, where it is told, what becomes of it while Bethink is off. */
export function MoreFields({ form, onChange }: FieldsProps) {
  const tell = (channel: Schedule["channels"][number], on: boolean) =>
    onChange({
      channels: on ? [...form.channels, channel] : form.channels.filter((each) => each !== channel),
    });
  return (
    <details>
      <summary>More</summary>
      <div className="body inner">
        <label className="field">
          Title
          <input
            className="input"
            maxLength={160}
            placeholder="Its first words"
            value={form.title}
            onChange={({ target }) => onChange({ title: target.value })}
          />
        </label>
        <label className="field">
          If Bethink was off at that time
          <select
            className="input"
            value={form.missed}
            onChange={({ target }) => onChange({ missed: target.value as Schedule["missed"] })}
          >
            <option value="once">Do it once, and say that it is late</option>
            <option value="skip">Leave it out</option>
          </select>
        </label>
        <fieldset className="choices inline">
          <legend>Tell me by (none chosen: everywhere that is set up)</legend>
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
            Tokens that one run may use
            <input
              type="number"
              className="input"
              min={1}
              placeholder="As every answer"
              value={form.budget}
              onChange={({ target }) => onChange({ budget: target.value })}
            />
          </label>
        )}
      </div>
    </details>
  );
}
