import { Tabs as Base } from "@base-ui/react/tabs";
import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "./pieces";
import styles from "./tabs.module.css";

export type Tab<T extends string> = {
  value: T;
  label: string;
  icon?: LucideIcon;
  /** How many there are in it. */
  count?: number;
};

/** Views of one thing, of which one is shown; the arrow keys go from one to the next. */
export function Tabs<T extends string>(props: {
  label: string;
  value: T;
  tabs: readonly Tab<T>[];
  onChange: (value: T) => void;
  /** What is shown of the chosen one. */
  children: ReactNode;
}) {
  const { label, value, tabs, onChange, children } = props;
  return (
    <Base.Root value={value} onValueChange={(next) => onChange(next as T)} className={styles.root}>
      <Base.List aria-label={label} className={styles.list}>
        {tabs.map((tab) => (
          <Base.Tab key={tab.value} value={tab.value} className={styles.tab}>
            <Face tab={tab} />
          </Base.Tab>
        ))}
      </Base.List>
      <Base.Panel key={value} value={value} className={styles.panel}>
        {children}
      </Base.Panel>
    </Base.Root>
  );
}

/** The same where each view has an address of its own. */
export function TabLinks(props: {
  label: string;
  /** The address of what is shown. */
  current: string;
  tabs: readonly (Omit<Tab<string>, "value"> & { to: string })[];
}) {
  return (
    <nav aria-label={props.label} className={styles.list}>
      {props.tabs.map(({ to, ...tab }) => (
        <Link
          key={to}
          to={to}
          className={styles.tab}
          aria-current={to === props.current ? "page" : undefined}
        >
          <Face tab={{ ...tab, value: to }} />
        </Link>
      ))}
    </nav>
  );
}

function Face({ tab }: { tab: Tab<string> }) {
  const { icon: Icon, label, count } = tab;
  return (
    <>
      {Icon && <Icon size={16} aria-hidden />}
      {label}
      {count !== undefined && count > 0 && <span className={styles.count}>{count}</span>}
    </>
  );
}
