// Looks for pages as one types: by name at once, and by what they say as soon as the server answers.
import { FileText, Search } from "lucide-react";
import { type KeyboardEvent, useEffect, useId, useMemo, useState } from "react";
import { asProblem } from "../../api/client";
import type { VaultFound, VaultHit } from "../../api/types";
import { vaultApi } from "../../api/vault";
import { t } from "../../i18n";
import { Link } from "../../kit/pieces";
import { addressOfPage } from "../../services/router";
import styles from "./Finder.module.css";
import { folderOf, named, titleOf } from "./treeRows";
import type { Pages } from "./wikilinks";

const NAMES = 8;
const TYPING_PAUSE_MS = 200;
const LEAST = 2;

/** Pages that say what is typed, as they are at the last `news`; what was found before stays until newer answers are there. */
function useSaid(query: string, news: unknown) {
  const [found, setFound] = useState<VaultFound | null>(null);
  const [problem, setProblem] = useState("");
  // biome-ignore lint/correctness/useExhaustiveDependencies: `news` says when to look again
  useEffect(() => {
    if (query.length < LEAST) setFound(null);
    if (query.length < LEAST) return;
    const abort = new AbortController();
    const read = () =>
      vaultApi.search(query, abort.signal).then(
        (answer) => {
          setFound(answer);
          setProblem("");
        },
        (error) => {
          if (!abort.signal.aborted) setProblem(asProblem(error).detail);
        },
      );
    const timer = setTimeout(() => void read(), TYPING_PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [query, news]);
  return { found, problem };
}

/** A few lines of a page with what is sought marked in them. */
function Excerpt({ hit }: { hit: VaultHit }) {
  const [first] = hit.excerpts;
  if (!first) return null;
  // A mark counts characters, of which an emoji is one; a string's own indices count it as two.
  const characters = Array.from(first.text);
  const cut = (start: number, end?: number) => characters.slice(start, end).join("");
  const ends = first.marks.map(({ end }) => end);
  return (
    <span className={styles.excerpt}>
      {first.marks.map(({ start, end }, i) => (
        <span key={start}>
          {cut(ends[i - 1] ?? 0, start)}
          <mark>{cut(start, end)}</mark>
        </span>
      ))}
      {cut(ends.at(-1) ?? 0)}
    </span>
  );
}

type FinderProps = {
  pages: Pages;
  query: string;
  onQuery: (query: string) => void;
  onOpen: (path: string) => void;
};

/** The field above the tree; while something stands in it, what it finds takes the tree's place. */
export function Finder({ pages, query, onQuery, onOpen }: FinderProps) {
  const id = useId();
  const [at, setAt] = useState(0);
  const wanted = query.trim();
  const { found, problem } = useSaid(wanted, pages);
  const names = useMemo(() => named(pages.paths, wanted, NAMES), [pages, wanted]);
  const chosen = Math.min(at, names.length - 1);
  const press = (event: KeyboardEvent) => {
    const to = { ArrowDown: chosen + 1, ArrowUp: chosen - 1 }[event.key];
    if (to !== undefined) setAt((to + names.length) % Math.max(1, names.length));
    else if (event.key === "Enter" && names[chosen]) onOpen(names[chosen]);
    else if (event.key === "Escape" && query) onQuery("");
    else return;
    event.preventDefault();
  };
  return (
    <>
      <label className="search">
        <Search size={16} aria-hidden />
        <input
          type="search"
          className="input"
          role="combobox"
          aria-label={t("Search pages")}
          aria-expanded={Boolean(wanted)}
          aria-controls={wanted ? id : undefined}
          aria-activedescendant={names.length ? `${id}-${chosen}` : undefined}
          placeholder={t("Search pages")}
          value={query}
          onChange={(event) => {
            onQuery(event.target.value);
            setAt(0);
          }}
          onKeyDown={press}
        />
      </label>
      {wanted && (
        <div className={`${styles.found} scroll`}>
          {names.length > 0 && <h2>{t("By name")}</h2>}
          <div id={id} role="listbox" aria-label={t("Pages found")}>
            {names.map((path, i) => (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the focus and takes the keys
              <div
                key={path}
                id={`${id}-${i}`}
                role="option"
                tabIndex={-1}
                aria-selected={i === chosen}
                onClick={() => onOpen(path)}
              >
                <FileText size={15} aria-hidden />
                <span className={styles.twoLines}>
                  <span className="clip">{titleOf(path)}</span>
                  {folderOf(path) && <small className="clip">{folderOf(path)}</small>}
                </span>
              </div>
            ))}
          </div>
          {found && found.items.length > 0 && (
            <section aria-label={t("In the text")}>
              <h2>
                {t("In the text of {count, plural, one {# page} other {# pages}}", {
                  count: found.total,
                })}
              </h2>
              {found.items.map((hit) => (
                <Link key={hit.path} className={styles.hit} to={addressOfPage(hit.path)}>
                  <strong className="clip">{titleOf(hit.path)}</strong>
                  <Excerpt hit={hit} />
                </Link>
              ))}
            </section>
          )}
          {!names.length && !found?.items.length && (
            <p className={styles.none} role="status">
              {problem || (found ? t("No page contains this.") : t("Searching…"))}
            </p>
          )}
        </div>
      )}
    </>
  );
}
