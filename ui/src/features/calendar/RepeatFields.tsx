import { t } from "../../i18n";
import { choicesFor, type Plain } from "./recurrence";
import type { FieldsProps } from "./WhenFields";

type RepeatProps = FieldsProps & {
  /** The rule as it is, in words. */
  words: string | null;
};

/** How it repeats: plain choices, or one's own rule in words. */
export function RepeatFields({ form, onChange, words }: RepeatProps) {
  const { repeat } = form;
  const change = (patch: Partial<typeof repeat>) => onChange({ repeat: { ...repeat, ...patch } });
  const isPlain = repeat.every !== "none" && repeat.every !== "own";
  return (
    <div className="line">
      <label className="field">
        {t("Repeats")}
        <select
          className="input"
          value={repeat.every}
          onChange={({ target }) => change({ every: target.value as Plain | "own" })}
        >
          {choicesFor(form.startDay).map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
          <option value="own">{(repeat.own && words) || t("In my own words")}</option>
        </select>
      </label>
      {repeat.every === "own" && (
        <label className="field">
          {t("How it repeats")}
          <input
            className="input"
            placeholder={t("every last Thursday")}
            value={repeat.own}
            onChange={({ target }) => change({ own: target.value })}
          />
        </label>
      )}
      {isPlain && (
        <label className="field">
          {t("Until")}
          <select
            className="input"
            value={repeat.ends}
            onChange={({ target }) => change({ ends: target.value as typeof repeat.ends })}
          >
            <option value="never">{t("For ever")}</option>
            <option value="until">{t("A day")}</option>
            <option value="count">{t("So many times")}</option>
          </select>
        </label>
      )}
      {isPlain && repeat.ends === "until" && (
        <label className="field">
          {t("Last day")}
          <input
            type="date"
            className="input"
            min={form.startDay}
            value={repeat.until}
            onChange={({ target }) => change({ until: target.value })}
          />
        </label>
      )}
      {isPlain && repeat.ends === "count" && (
        <label className="field">
          {t("Times")}
          <input
            type="number"
            className="input"
            min={1}
            max={999}
            value={repeat.count}
            onChange={({ target }) => change({ count: Number(target.value) })}
          />
        </label>
      )}
    </div>
  );
}
