// Which memories are listed, with how many there are of each kind.
import { ListFilter } from "lucide-react";
import type { MemoryNumbers } from "../../api/types";
import { locale, t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Field, Switch } from "../../kit/Field";
import { Popover } from "../../kit/Popover";
import { Segmented } from "../../kit/pieces";
import { Select } from "../../kit/Select";
import styles from "./memory.module.css";
import { everything, type Filter } from "./useMemories";
import { categoryName, sourceName, states } from "./words";

const narrowing = [
  "category",
  "state",
  "source",
  "trust",
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

export function MemoryFilters(props: FiltersProps) {
  const count = narrowedBy(props.filter);
  return (
    <Popover
      label={t("Filters and order")}
      className={`button quiet ${styles.filters}`}
      face={
        <>
          <ListFilter size={16} aria-hidden />
          {count ? t("Filters ({count})", { count }) : t("Filters")}
        </>
      }
    >
      {() => <FilterForm {...props} />}
    </Popover>
  );
}

function FilterForm({ filter, onFilter, numbers }: FiltersProps) {
  const searching = Boolean(filter.query.trim());
  const trustName = (trust: string) =>
    trust === "owner" ? t("Your own words") : t("From elsewhere");
  const choice = (
    label: string,
    name: "category" | "source" | "trust" | "project",
    counts: Record<string, number>,
    nameOf: (value: string) => string,
  ) => {
    const known = { ...(filter[name] ? { [filter[name]]: 0 } : {}), ...counts };
    return (
      <Field label={label}>
        {({ id }) => (
          <Select
            id={id}
            look="wide"
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
        )}
      </Field>
    );
  };
  return (
    <div className={styles.form}>
      <Segmented
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
        <Field label={t("State")}>
          {({ id }) => (
            <Select
              id={id}
              look="wide"
              value={filter.state}
              options={states().map(({ value, label }) => {
                const count = numbers?.states[value] ?? 0;
                return { value, label: `${label} (${count.toLocaleString(locale())})` };
              })}
              onChange={(state) => onFilter({ state })}
            />
          )}
        </Field>
      )}
      {choice(t("Source"), "source", numbers?.sources ?? {}, sourceName)}
      {choice(t("Whose words"), "trust", numbers?.trusts ?? {}, trustName)}
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
    </div>
  );
}
