import { Search } from "lucide-react";
import type { ReactNode } from "react";
import { t } from "../../i18n";
import type { Filter, Sort } from "./useLibrary";
import { kindName, stages } from "./words";

const sorts: readonly { value: Sort; label: string }[] = [
  { value: "changed", label: t("Newest first") },
  { value: "name", label: t("By name") },
  { value: "size", label: t("Largest first") },
];

type ToolsProps = {
  query: string;
  filter: Filter;
  /** Formats and tags that there are. */
  kinds: readonly string[];
  tags: readonly string[];
  onQuery: (query: string) => void;
  onFilter: (patch: Partial<Filter>) => void;
};

function Choice(props: {
  label: string;
  value: string;
  disabled: boolean;
  onChange: (value: string) => void;
  children: ReactNode;
}) {
  return (
    <select
      className="input"
      aria-label={props.label}
      value={props.value}
      disabled={props.disabled}
      onChange={(event) => props.onChange(event.target.value)}
    >
      {props.children}
    </select>
  );
}

/** Search over what documents say, and what is listed. A search looks through all, so filters rest meanwhile. */
export function LibraryTools({ query, filter, kinds, tags, onQuery, onFilter }: ToolsProps) {
  const searching = Boolean(query.trim());
  return (
    <search className="memory-tools doc-tools">
      <label className="search">
        <Search size={16} aria-hidden />
        <span className="visually-hidden">{t("Search documents")}</span>
        <input
          type="search"
          className="input"
          placeholder={t("Search what they say")}
          value={query}
          onChange={(event) => onQuery(event.target.value)}
        />
      </label>
      <Choice
        label={t("Format")}
        value={filter.kind}
        disabled={searching}
        onChange={(kind) => onFilter({ kind })}
      >
        <option value="">{t("All formats")}</option>
        {kinds.map((kind) => (
          <option key={kind} value={kind}>
            {kindName(kind)}
          </option>
        ))}
      </Choice>
      <Choice
        label={t("State")}
        value={filter.stage}
        disabled={searching}
        onChange={(stage) => onFilter({ stage })}
      >
        <option value="">{t("All states")}</option>
        {stages.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </Choice>
      {tags.length > 0 && (
        <Choice
          label={t("Tag")}
          value={filter.tag}
          disabled={searching}
          onChange={(tag) => onFilter({ tag })}
        >
          <option value="">{t("All tags")}</option>
          {tags.map((tag) => (
            <option key={tag} value={tag}>
              {tag}
            </option>
          ))}
        </Choice>
      )}
      <Choice
        label={t("Order")}
        value={filter.sort}
        disabled={searching}
        onChange={(sort) => onFilter({ sort: sort as Sort })}
      >
        {sorts.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </Choice>
    </search>
  );
}
