// Messages that hold the words that are looked for, a page at a time.
import { useCallback, useEffect, useMemo, useState } from "react";
import { api, asProblem, type Problem } from "../api/client";
import type { FoundMessage } from "../api/types";

const SHOWN = 6;
const MORE = 20;
const TYPING_PAUSE_MS = 200;

type Messages = {
  query: string;
  items: readonly FoundMessage[];
  cursor: string | null;
  problem: Problem | null;
};
const nothing: Messages = { query: "", items: [], cursor: null, problem: null };

/** What is found for the words typed. What was found before stays until newer answers are there. */
export function useMessages(query: string) {
  const [found, setFound] = useState(nothing);
  useEffect(() => {
    if (!query) setFound(nothing);
    if (!query) return;
    const abort = new AbortController();
    const read = async () => {
      try {
        const page = await api.searchMessages({ query, limit: SHOWN }, abort.signal);
        setFound({ ...page, query, problem: null });
      } catch (error) {
        if (abort.signal.aborted) return;
        const problem = asProblem(error);
        // Signs without a word in them are nothing to look for, and no fault.
        setFound({
          ...nothing,
          query,
          problem: problem.status === 422 || problem.status === 400 ? null : problem,
        });
      }
    };
    const timer = setTimeout(() => void read(), TYPING_PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [query]);
  const { cursor } = found;
  const more = useCallback(() => {
    api.searchMessages({ query, limit: MORE, cursor }).then(
      (page) =>
        setFound((now) =>
          now.query === query && now.cursor === cursor
            ? { ...now, items: [...now.items, ...page.items], cursor: page.cursor }
            : now,
        ),
      (error) => setFound((now) => ({ ...now, problem: asProblem(error) })),
    );
  }, [query, cursor]);
  return useMemo(() => ({ ...found, more }), [found, more]);
}

/** The part of a message around the words that were found, with these marked. */
export function Snippet({ found }: { found: Pick<FoundMessage, "snippet" | "marks"> }) {
  // A mark counts characters, of which an emoji is one; a string's own indices count it as two.
  const characters = Array.from(found.snippet);
  const cut = (start: number, end?: number) => characters.slice(start, end).join("");
  const ends = found.marks.map(({ end }) => end);
  return (
    <>
      {found.marks.map(({ start, end }, i) => (
        <span key={start}>
          {cut(ends[i - 1] ?? 0, start)}
          <mark>{cut(start, end)}</mark>
        </span>
      ))}
      {cut(ends.at(-1) ?? 0)}
    </>
  );
}
