import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { api, asProblem, type Problem } from "../../api/client";
import type { Memory, MemoryPage } from "../../api/types";
import { useApp } from "../../services/context";
import { useNews } from "../../services/news";
import { useReturn } from "../../services/useReturn";

export type Filter = { query: string; category: string; state: string };
export type Memories = {
  items: readonly Memory[];
  total: number;
  cursor: string | null;
  status: "loading" | "ready" | "failed";
  problem: Problem | null;
};
type Wanted = { query: string; category: string; state?: string };

const PAGE = 100;
const MOST = 200;
/** Of a longer list that is read again its beginning is shown. */
const AGAIN_AT_MOST = 1000;
const TYPING_PAUSE_MS = 150;
const nothing: Memories = { items: [], total: 0, cursor: null, status: "loading", problem: null };

/** The first memories, as many as are `shown` already. */
async function first(wanted: Wanted, shown: number, signal?: AbortSignal): Promise<MemoryPage> {
  const least = Math.min(shown, AGAIN_AT_MOST);
  const limit = least > PAGE ? MOST : PAGE;
  let page = await api.memories({ ...wanted, limit }, signal);
  while (page.cursor && page.items.length < least) {
    const next = await api.memories({ ...wanted, limit, cursor: page.cursor }, signal);
    page = { ...next, items: [...page.items, ...next.items] };
  }
  return page;
}

/** The memories that pass a filter, a page at a time. What is shown stays until newer answers are there. */
export function useMemories(filter: Filter) {
  const { memoryNews } = useApp();
  const [memories, setMemories] = useState(nothing);
  const asked = useRef(0);
  /** What is being read on from. */
  const reading = useRef<readonly Memory[]>(undefined);
  const { query, category, state } = filter;
  const wanted = useMemo((): Wanted => {
    // A search finds what is true now; the server refuses it for other states.
    const words = query.trim();
    return words ? { query: words, category } : { query: "", category, state };
  }, [query, category, state]);
  const shown = useRef({ of: wanted, number: 0 });
  const read = useCallback(
    async (signal?: AbortSignal) => {
      asked.current += 1;
      const mine = asked.current;
      const number = shown.current.of === wanted ? shown.current.number : 0;
      try {
        const page = await first(wanted, number, signal);
        if (mine === asked.current) setMemories({ ...page, status: "ready", problem: null });
      } catch (error) {
        if (signal?.aborted || mine !== asked.current) return;
        setMemories((now) => ({ ...now, status: "failed", problem: asProblem(error) }));
      }
    },
    [wanted],
  );
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(() => void read(abort.signal), wanted.query ? TYPING_PAUSE_MS : 0);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [read, wanted]);
  useNews(memoryNews, () => read());
  useReturn(() => read());
  const more = async () => {
    const { cursor, items, problem } = memories;
    if (!cursor || problem || reading.current === items) return;
    reading.current = items;
    // What was read anew meanwhile is not gone on with from here.
    const behind = (from: (now: Memories) => Memories) =>
      setMemories((now) => (now.items === items ? from(now) : now));
    try {
      const page = await api.memories({ ...wanted, limit: PAGE, cursor });
      shown.current = { of: wanted, number: items.length + page.items.length };
      behind((now) => ({ ...now, items: [...items, ...page.items], cursor: page.cursor }));
    } catch (error) {
      behind((now) => ({ ...now, problem: asProblem(error) }));
    }
  };
  return { memories, more, read };
}
