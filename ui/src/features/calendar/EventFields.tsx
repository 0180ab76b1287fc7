import { t } from "../../i18n";
import { SelectField } from "../../kit/Select";
import { typeName, typeNames } from "../../planner/eventWords";
import styles from "./Calendar.module.css";
import type { FieldsProps } from "./WhenFields";

const reminderChoices: readonly { minutes: number; label: string }[] = [
  { minutes: 0, label: t("When it begins") },
  { minutes: 10, label: before(10) },
  { minutes: 60, label: before(60) },
  { minutes: 1440, label: before(1440) },
];

function reminderWords(minutes: number): string {
  const known = reminderChoices.find((each) => each.minutes === minutes);
  if (known) return known.label;
  return before(minutes);
}

function before(minutes: number): string {
  if (minutes % 1440 === 0)
    return t("{count, plural, one {# day} other {# days}} before", { count: minutes / 1440 });
  return minutes % 60 === 0
    ? t("{count, plural, one {# hour} other {# hours}} before", { count: minutes / 60 })
    : t("{count, plural, one {# minute} other {# minutes}} before", { count: minutes });
}

/** Where, with whom, what to be reminded of. */
export function EventFields({ form, onChange }: FieldsProps) {
  const { location, type, attendees, reminders, description } = form;
  const offered = [...new Set([...reminderChoices.map(({ minutes }) => minutes), ...reminders])];
  const types = [...new Set([...Object.keys(typeNames), type])];
  const remind = (minutes: number, on: boolean) =>
    onChange({ reminders: on ? [...reminders, minutes] : reminders.filter((m) => m !== minutes) });
  return (
    <>
      <div className={styles.line}>
        <label className="field wide">
          {t("Place")}
          <input
            className="input"
            value={location}
            onChange={({ target }) => onChange({ location: target.value })}
          />
        </label>
        <SelectField
          label={t("Kind")}
          value={type}
          options={types.map((value) => ({ value, label: typeName(value) }))}
          onChange={(next) => onChange({ type: next })}
        />
      </div>
      <label className="field">
        {t("With, names or addresses with commas between them")}
        <input
          className="input"
          value={attendees}
          onChange={({ target }) => onChange({ attendees: target.value })}
        />
      </label>
      <fieldset className="choices inline">
        <legend>{t("Remind me")}</legend>
        {offered.map((minutes) => (
          <label key={minutes}>
            <input
              type="checkbox"
              checked={reminders.includes(minutes)}
              onChange={({ target }) => remind(minutes, target.checked)}
            />
            {reminderWords(minutes)}
          </label>
        ))}
      </fieldset>
      <label className="field">
        {t("Notes")}
        <textarea
          className="input"
          rows={3}
          value={description}
          onChange={({ target }) => onChange({ description: target.value })}
        />
      </label>
    </>
  );
}
