// The line above a list: what is searched in it, and the conditions that narrow it.
import { ListFilter, Search } from "lucide-react";
import type { ReactNode } from "react";
import { t } from "../i18n";
import styles from "./listTools.module.css";
import { Popover } from "./Popover";

type ToolsProps = {
  /** What is searched; the field's name. */
  label: string;
  placeholder?: string;
  query: string;
  onQuery: (query: string) => void;
  /** How many conditions are set. */
  narrowed: number;
  /** The conditions, made when they are opened. */
  filters: () => ReactNode;
  /** What stands beside them. */
  children?: ReactNode;
};

export function ListTools(props: ToolsProps) {
  const { label, placeholder = label, query, onQuery, narrowed: count, filters, children } = props;
  return (
    <search className={styles.tools}>
      <label className="search">
        <Search size={16} aria-hidden />
        <span className="visually-hidden">{label}</span>
        <input
          type="search"
          className="input"
          placeholder={placeholder}
          value={query}
          onChange={({ target }) => onQuery(target.value)}
        />
      </label>
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
        {() => <div className={styles.form}>{filters()}</div>}
      </Popover>
      {children}
    </search>
  );
}
