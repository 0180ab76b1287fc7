import { SearchX } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { asProblem, type Problem } from "../../api/client";
import { type Document, documentsApi, type PassageHit } from "../../api/documents";
import type { PassageList } from "../../contract/openapi";
import { t, told } from "../../i18n";
import { Empty, Link, ProblemNotice, Skeleton } from "../../kit/pieces";
import { useListKeys } from "../../kit/useListKeys";
import { addressOfDocument } from "../../services/router";
import styles from "./Documents.module.css";
import { excerptOf, groupsOf } from "./hits";
import { kindIcon } from "./words";

const MOST = 40;
const NAMES = 5;
const TYPING_PAUSE_MS = 150;

type Found = PassageList & { named: readonly Document[] };

/** What answers; what was found before stays until newer answers are there. */
function useFound(query: string, collection: string | null) {
  const [found, setFound] = useState<Found | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [tries, setTries] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `tries` says when to look again
  useEffect(() => {
    const abort = new AbortController();
    const { signal } = abort;
    const read = async () => {
      try {
        const [passages, { items }] = await Promise.all([
          documentsApi.search({ query, k: MOST, collection }, signal),
          documentsApi.list({ query, collection, limit: NAMES }, signal),
        ]);
        if (signal.aborted) return;
        setFound({ ...passages, named: items });
        setProblem(null);
      } catch (error) {
        if (!signal.aborted) setProblem(asProblem(error));
      }
    };
    const timer = setTimeout(() => void read(), TYPING_PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [query, collection, tries]);
  return { found, problem, again: () => setTries((now) => now + 1) };
}

const placeWords = ({ page, pages, label, heading }: PassageHit) =>
  [label || (pages > 1 ? t("Page {page}", { page }) : ""), heading].filter(Boolean).join(" · ");

function Hit({ hit }: { hit: PassageHit }) {
  const { id, document, content, page, begin, end } = hit;
  const words = placeWords(hit);
  return (
    <li>
      <Link
        className={styles.hit}
        data-row={id}
        to={addressOfDocument(document.id, { content, page, at: [begin, end] })}
      >
        {words && <span className={styles.where}>{words}</span>}
        <span className={styles.said}>
          {excerptOf(hit).map(({ text, marked, at }) =>
            marked ? <mark key={at}>{text}</mark> : <span key={at}>{text}</span>,
          )}
        </span>
      </Link>
    </li>
  );
}

/** The passages that answer, by document; documents whose names do come first. */
export function SearchHits({ query, collection }: { query: string; collection: string | null }) {
  const { found, problem, again } = useFound(query, collection);
  const list = useRef<HTMLDivElement>(null);
  useListKeys(list, {});
  if (problem) return <ProblemNotice problem={problem} onRetry={again} />;
  if (!found) return <Skeleton lines={6} label={t("Searching")} />;
  const groups = groupsOf(found.items);
  const nothing = !groups.length && !found.named.length;
  return (
    <div ref={list} className={styles.found}>
      <p className={styles.count} role="status">
        {groups.length > 0
          ? t("{count} in {count2}, best first", {
              count: t("{count, plural, one {# passage} other {# passages}}", {
                count: found.items.length,
              }),
              count2: t("{count, plural, one {# document} other {# documents}}", {
                count: groups.length,
              }),
            })
          : t("No passage answers this")}
      </p>
      {nothing && (
        <Empty icon={SearchX} title={t("Nothing in your documents answers this")}>
          <p>{told(found.note ?? "") || t("Try other words, or look in all documents.")}</p>
        </Empty>
      )}
      {!nothing && found.note && <p className={styles.note}>{told(found.note)}</p>}
      {found.named.length > 0 && (
        <section aria-label={t("Documents by name")}>
          <ul className={styles.named}>
            {found.named.map(({ id, name, kind }) => {
              const Icon = kindIcon(kind);
              return (
                <li key={id}>
                  <Link
                    to={addressOfDocument(id)}
                    data-row={id}
                    className={`${styles.hit} ${styles.byName}`}
                  >
                    <Icon size={16} strokeWidth={1.75} aria-hidden />
                    {name}
                  </Link>
                </li>
              );
            })}
          </ul>
        </section>
      )}
      {groups.map(({ document, hits }) => {
        const Icon = kindIcon(document.kind);
        return (
          <section key={document.id} className={styles.group} aria-label={document.name}>
            <h2>
              <Icon size={16} strokeWidth={1.75} aria-hidden />
              <span className="clip">{document.name}</span>
            </h2>
            <ul>
              {hits.map((hit) => (
                <Hit key={hit.id} hit={hit} />
              ))}
            </ul>
          </section>
        );
      })}
    </div>
  );
}
