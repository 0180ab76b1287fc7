import { t } from "../../i18n";
import { SelectField } from "../../kit/Select";
import { choicesFor, type Plain } from "../../planner/repeats";
import styles from "./Calendar.module.css";
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
    <div className={styles.line}>
      <SelectField
        label={t("Repeats")}
        value={repeat.every}
        options={[
          ...choicesFor(form.startDay),
          { value: "own", label: (repeat.own && words) || t("In my own words") },
        ]}
        onChange={(every) => change({ every: every as Plain | "own" })}
      />
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
        <SelectField
          label={t("Until")}
          value={repeat.ends}
          options={[
            { value: "never", label: t("For ever") },
            { value: "until", label: t("A day") },
            { value: "count", label: t("So many times") },
          ]}
          onChange={(ends) => change({ ends })}
        />
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
