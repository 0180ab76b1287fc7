import { t } from "../../i18n";
import { ListTools } from "../../kit/ListTools";
import { SelectField } from "../../kit/Select";
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

/** Search over what documents say, and what is listed. A search looks through all, so filters rest meanwhile. */
export function LibraryTools({ query, filter, kinds, tags, onQuery, onFilter }: ToolsProps) {
  const { kind, stage, tag, sort } = filter;
  const disabled = Boolean(query.trim());
  const all = (label: string) => ({ value: "", label });
  return (
    <ListTools
      label={t("Search documents")}
      placeholder={t("Search what they say")}
      query={query}
      onQuery={onQuery}
      narrowed={[kind, stage, tag].filter(Boolean).length}
      filters={() => (
        <>
          {disabled && <p>{t("A search looks through all documents.")}</p>}
          <SelectField
            label={t("Format")}
            value={kind}
            disabled={disabled}
            options={[
              all(t("All formats")),
              ...kinds.map((value) => ({ value, label: kindName(value) })),
            ]}
            onChange={(next) => onFilter({ kind: next })}
          />
          <SelectField
            label={t("State")}
            value={stage}
            disabled={disabled}
            options={[all(t("All states")), ...stages]}
            onChange={(next) => onFilter({ stage: next })}
          />
          {tags.length > 0 && (
            <SelectField
              label={t("Tag")}
              value={tag}
              disabled={disabled}
              options={[all(t("All tags")), ...tags.map((value) => ({ value, label: value }))]}
              onChange={(next) => onFilter({ tag: next })}
            />
          )}
          <SelectField
            label={t("Order")}
            value={sort}
            disabled={disabled}
            options={sorts}
            onChange={(next) => onFilter({ sort: next })}
          />
        </>
      )}
    />
  );
}
