import { Autocomplete as Base } from "@base-ui/react/autocomplete";
import { Search } from "lucide-react";
import { useId } from "react";
import styles from "./floating.module.css";

export type Found = { id: string; name: string; says: string };

type FindProps = {
  label: string;
  query: string;
  onQuery: (query: string) => void;
  /** What answers to the words, best first. */
  found: readonly Found[];
  /** The name of the list of what was found. */
  listLabel: string;
  onOpen: (id: string) => void;
};

/** A field that finds things and goes to one; the arrow keys choose, Enter opens. The rest of the page stays within reach. */
export function FindField({ label, query, onQuery, found, listLabel, onOpen }: FindProps) {
  const list = useId();
  return (
    <Base.Root
      inline
      open={found.length > 0}
      items={[...found]}
      filter={null}
      autoHighlight="always"
      value={query}
      itemToStringValue={({ name }: Found) => name}
      onValueChange={(next, { reason }) => reason !== "item-press" && onQuery(next)}
    >
      <search className="search">
        <Search size={16} aria-hidden />
        <Base.Input
          aria-label={label}
          aria-expanded={found.length > 0}
          aria-controls={found.length > 0 ? list : undefined}
          className="input"
          placeholder={label}
          onBlur={() => onQuery("")}
        />
        {found.length > 0 && (
          <Base.List
            id={list}
            aria-label={listLabel}
            className={`${styles.popup} ${styles.below}`}
            onPointerDown={(event) => event.preventDefault()}
          >
            {(item: Found) => (
              <Base.Item
                key={item.id}
                value={item}
                className={styles.item}
                onClick={() => {
                  onQuery("");
                  onOpen(item.id);
                }}
              >
                <span className={styles.words}>
                  {item.name} <small>{item.says}</small>
                </span>
              </Base.Item>
            )}
          </Base.List>
        )}
      </search>
    </Base.Root>
  );
}
