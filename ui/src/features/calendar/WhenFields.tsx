import { useState } from "react";
import { t } from "../../i18n";
import { Combobox } from "../../kit/Combobox";
import { Field } from "../../kit/Field";
import { browserZone } from "../../services/days";
import styles from "./Calendar.module.css";
import { type EventForm, startsAt } from "./eventForm";

export type FieldsProps = {
  form: EventForm;
  onChange: (patch: Partial<EventForm>) => void;
};

/** From when until when, by which clock. */
export function WhenFields({ form, onChange }: FieldsProps) {
  const { allDay, startDay, startTime, endDay, endTime, zone } = form;
  const [isZoned, setZoned] = useState(zone !== browserZone());
  return (
    <fieldset className={styles.whenFields} aria-label={t("When")}>
      <label className="check">
        <input
          type="checkbox"
          checked={allDay}
          onChange={({ target }) => onChange({ allDay: target.checked })}
        />
        {t("All day")}
      </label>
      <div className={styles.line}>
        <label className="field">
          {t("From")}
          <input
            type="date"
            className="input"
            required
            value={startDay}
            onChange={({ target }) => onChange(startsAt(form, target.value, startTime))}
          />
        </label>
        {!allDay && (
          <label className="field">
            <span className="visually-hidden">{t("Beginning,")} </span>
            {t("time")}
            <input
              type="time"
              className="input"
              required
              value={startTime}
              onChange={({ target }) => onChange(startsAt(form, startDay, target.value))}
            />
          </label>
        )}
        <label className="field">
          {allDay ? t("To, included") : t("To")}
          <input
            type="date"
            className="input"
            required
            value={endDay}
            onChange={({ target }) => onChange({ endDay: target.value })}
          />
        </label>
        {!allDay && (
          <label className="field">
            <span className="visually-hidden">{t("End,")} </span>
            {t("time")}
            <input
              type="time"
              className="input"
              required
              value={endTime}
              onChange={({ target }) => onChange({ endTime: target.value })}
            />
          </label>
        )}
      </div>
      {!allDay &&
        (isZoned ? (
          <Field label={t("Time zone")}>
            {({ id }) => (
              <Combobox
                id={id}
                value={zone}
                options={Intl.supportedValuesOf("timeZone")}
                onChange={(next) => onChange({ zone: next })}
              />
            )}
          </Field>
        ) : (
          <button type="button" className="link" onClick={() => setZoned(true)}>
            {t("Times by the clock in {zone}. Another time zone?", {
              zone: zone.replaceAll("_", " "),
            })}
          </button>
        ))}
    </fieldset>
  );
}
