// A graph in words: each node with what it is linked with. The second form of the drawing, for who reads it rather.
import { useMemo, useState } from "react";
import { t } from "../../i18n";
import { Link } from "../pieces";
import styles from "./Graph.module.css";
import { distanceName } from "./GraphParts";
import type { Drawing, Spot } from "./graphLayout";

const MOST = 200;
/** So many links of a node are named, and the others counted. */
const MOST_NAMES = 12;
const SEARCHED_FROM = 20;

export function GraphList({ drawing }: { drawing: Drawing }) {
  const { spots } = drawing;
  const [isOpen, setOpen] = useState(false);
  const [words, setWords] = useState("");
  const names = useMemo(() => new Map(spots.map(({ id, name }) => [id, name])), [spots]);
  const wanted = words.trim().toLocaleLowerCase();
  const found = spots.filter(({ name }) => name.toLocaleLowerCase().includes(wanted));
  return (
    <details className={styles.list} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{t("As a list")}</summary>
      {isOpen && spots.length > SEARCHED_FROM && (
        <input
          type="search"
          className="input"
          aria-label={t("Search in the list")}
          placeholder={t("Search in the list")}
          value={words}
          onChange={({ target }) => setWords(target.value)}
        />
      )}
      {isOpen && (
        <ul>
          {found.slice(0, MOST).map((spot) => (
            <li key={spot.id}>
              <Link to={spot.address}>
                {spot.name}
                {spot.isMissing && ` (${t("does not exist yet")})`}
                <small>{linksOf(spot, names)}</small>
              </Link>
            </li>
          ))}
        </ul>
      )}
      {isOpen && found.length > MOST && (
        <p role="status">
          {t("The first {shown} of {count} are listed. Search to find others.", {
            shown: MOST,
            count: found.length,
          })}
        </p>
      )}
    </details>
  );
}

function linksOf({ distance, to, from }: Spot, names: ReadonlyMap<string, string>): string {
  const named = (ids: readonly string[]) => {
    const known = ids.flatMap((id) => names.get(id) ?? []);
    const more = known.length - MOST_NAMES;
    return [...known.slice(0, MOST_NAMES), ...(more > 0 ? [`+${more}`] : [])].join(", ");
  };
  return [
    distanceName(distance),
    to.length > 0 && t("links to {names}", { names: named(to) }),
    from.length > 0 && t("linked from {names}", { names: named(from) }),
  ]
    .filter(Boolean)
    .join("; ");
}
