// Looks for pages as one types: by name at once, and by what they say as soon as the server answers.
import { Autocomplete as Base } from "@base-ui/react/autocomplete";
import { FileText, Search } from "lucide-react";
import { useEffect, useId, useMemo, useState } from "react";
import { asProblem } from "../../api/client";
import type { VaultFound, VaultHit } from "../../api/types";
import { vaultApi } from "../../api/vault";
import { t } from "../../i18n";
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

/** A page that was found: by its name, or by what it says. */
type Item = { path: string; hit: VaultHit | null };
type Group = { value: "name" | "text"; items: readonly Item[] };

type FinderProps = {
  pages: Pages;
  query: string;
  onQuery: (query: string) => void;
  onOpen: (path: string) => void;
};

/** The field above the tree; while something stands in it, what it finds takes the tree's place. */
export function Finder({ pages, query, onQuery, onOpen }: FinderProps) {
  const id = useId();
  const wanted = query.trim();
  const { found, problem } = useSaid(wanted, pages);
  const groups = useMemo((): Group[] => {
    const names = named(pages.paths, wanted, NAMES).map((path) => ({ path, hit: null }));
    const said = (found?.items ?? []).map((hit) => ({ path: hit.path, hit }));
    const all: Group[] = [
      { value: "name", items: names },
      { value: "text", items: said },
    ];
    return all.filter(({ items }) => items.length > 0);
  }, [pages, wanted, found]);
  const titleOfGroup = ({ value }: Group) =>
    value === "name"
      ? t("By name")
      : t("In the text of {count, plural, one {# page} other {# pages}}", {
          count: found?.total ?? 0,
        });
  return (
    <Base.Root
      inline
      open
      items={groups}
      filter={null}
      autoHighlight="always"
      value={query}
      itemToStringValue={({ path }: Item) => path}
      onValueChange={(next, { reason }) => reason !== "item-press" && onQuery(next)}
    >
      <search className="search">
        <Search size={16} aria-hidden />
        <Base.Input
          type="search"
          className="input"
          aria-label={t("Search pages")}
          aria-expanded={Boolean(wanted)}
          aria-controls={wanted ? id : undefined}
          placeholder={t("Search pages")}
          onKeyDown={(event) => event.key === "Escape" && onQuery("")}
        />
      </search>
      {wanted && (
        <div className={`${styles.found} scroll`}>
          <Base.List id={id} aria-label={t("Pages found")}>
            {(group: Group) => (
              <Base.Group key={group.value} items={[...group.items]}>
                <Base.GroupLabel className={styles.group}>{titleOfGroup(group)}</Base.GroupLabel>
                <Base.Collection>
                  {(item: Item) => (
                    <Base.Item
                      key={item.path}
                      value={item}
                      className={styles.item}
                      onClick={() => onOpen(item.path)}
                    >
                      <FileText size={15} aria-hidden />
                      <span className={styles.lines}>
                        <span className="clip">{titleOf(item.path)}</span>
                        {item.hit ? (
                          <Excerpt hit={item.hit} />
                        ) : (
                          folderOf(item.path) && (
                            <small className="clip">{folderOf(item.path)}</small>
                          )
                        )}
                      </span>
                    </Base.Item>
                  )}
                </Base.Collection>
              </Base.Group>
            )}
          </Base.List>
          {!groups.length && (
            <p className={styles.none} role="status">
              {problem || (found ? t("No page contains this.") : t("Searching…"))}
            </p>
          )}
        </div>
      )}
    </Base.Root>
  );
}
