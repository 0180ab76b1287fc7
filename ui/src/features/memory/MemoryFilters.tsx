// Which memories are listed, with how many there are of each kind.
import type { MemoryNumbers } from "../../api/types";
import { locale, t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Field, SegmentedField, Switch } from "../../kit/Field";
import { SelectField } from "../../kit/Select";
import styles from "./memory.module.css";
import { everything, type Filter } from "./useMemories";
import { categoryName, personName, sourceName, states } from "./words";

const narrowing = [
  "category",
  "state",
  "source",
  "trust",
  "about",
  "project",
  "pinned",
  "doubted",
  "since",
  "until",
] as const;

/** How many conditions are set beside the search and the time. */
export const narrowedBy = (filter: Filter): number =>
  narrowing.filter((name) => filter[name] !== everything[name]).length;

type FiltersProps = {
  filter: Filter;
  onFilter: (patch: Partial<Filter>) => void;
  numbers: MemoryNumbers | null;
};

export function MemoryFilters({ filter, onFilter, numbers }: FiltersProps) {
  const searching = Boolean(filter.query.trim());
  const trustName = (trust: string) =>
    trust === "owner" ? t("Your own words") : t("From elsewhere");
  const choice = (
    label: string,
    name: "category" | "source" | "trust" | "about" | "project",
    counts: Record<string, number>,
    nameOf: (value: string) => string,
  ) => {
    const known = { ...(filter[name] ? { [filter[name]]: 0 } : {}), ...counts };
    return (
      <SelectField
        label={label}
        value={filter[name]}
        options={[
          { value: "", label: t("Any") },
          ...Object.entries(known).map(([value, count]) => ({
            value,
            label: `${nameOf(value)} (${count.toLocaleString(locale())})`,
          })),
        ]}
        onChange={(value) => onFilter({ [name]: value })}
      />
    );
  };
  return (
    <>
      <SegmentedField
        label={t("Group by")}
        value={filter.order}
        options={[
          { value: "newest", label: t("Day") },
          { value: "category", label: t("Category") },
        ]}
        onChange={(order) => onFilter({ order })}
      />
      {choice(t("Category"), "category", numbers?.categories ?? {}, categoryName)}
      {!searching && !filter.asOf && (
        <SelectField
          label={t("State")}
          value={filter.state}
          options={states().map(({ value, label }) => {
            const count = numbers?.states[value] ?? 0;
            return { value, label: `${label} (${count.toLocaleString(locale())})` };
          })}
          onChange={(state) => onFilter({ state })}
        />
      )}
      {choice(t("Source"), "source", numbers?.sources ?? {}, sourceName)}
      {choice(t("Whose words"), "trust", numbers?.trusts ?? {}, trustName)}
      {choice(t("About whom"), "about", numbers?.abouts ?? {}, personName)}
      {Object.keys(numbers?.projects ?? {}).length > 0 &&
        choice(t("Project"), "project", numbers?.projects ?? {}, (name) => name)}
      <div className={styles.days}>
        <Field label={t("Learnt since")}>
          {(control) => (
            <input
              {...control}
              type="date"
              className="input"
              value={filter.since}
              onChange={({ target }) => onFilter({ since: target.value })}
            />
          )}
        </Field>
        <Field label={t("Learnt until")}>
          {(control) => (
            <input
              {...control}
              type="date"
              className="input"
              value={filter.until}
              onChange={({ target }) => onFilter({ until: target.value })}
            />
          )}
        </Field>
      </div>
      <Switch
        label={t("Only pinned")}
        checked={filter.pinned}
        onChange={(pinned) => onFilter({ pinned })}
      />
      <Switch
        label={t("Only in doubt")}
        checked={filter.doubted}
        onChange={(doubted) => onFilter({ doubted })}
      />
      <Button
        disabled={!narrowedBy(filter)}
        onClick={() => {
          const { query, asOf, order } = filter;
          onFilter({ ...everything, query, asOf, order });
        }}
      >
        {t("Clear the filters")}
      </Button>
    </>
  );
}
