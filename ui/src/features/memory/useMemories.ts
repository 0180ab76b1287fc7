import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { asProblem, type Problem } from "../../api/client";
import { type MemoryQuery, memoryApi } from "../../api/memory";
import type { Memory, MemoryPage } from "../../api/types";
import { useApp } from "../../services/context";
import { useNews } from "../../services/news";
import { useReturn } from "../../services/useReturn";

/** What is shown of the memories; empty words mean any. Days are as a date field gives them. */
export type Filter = {
  query: string;
  category: string;
  state: string;
  source: string;
  trust: string;
  about: string;
  project: string;
  pinned: boolean;
  doubted: boolean;
  since: string;
  until: string;
  /** The end of the day whose knowledge is shown; empty for now. */
  asOf: string;
  order: "newest" | "category";
};
export const everything: Filter = {
  query: "",
  category: "",
  state: "active",
  source: "",
  trust: "",
  about: "",
  project: "",
  pinned: false,
  doubted: false,
  since: "",
  until: "",
  asOf: "",
  order: "newest",
};

export type Memories = {
  items: readonly Memory[];
  total: number;
  /** How many of the items, the first ones, answer the search; null without one. */
  answering: number | null;
  cursor: string | null;
  status: "loading" | "ready" | "failed";
  problem: Problem | null;
};

const PAGE = 100;
const MOST = 200;
/** Of a longer list that is read again its beginning is shown. */
const AGAIN_AT_MOST = 1000;
const FOUND = 30;
const TYPING_PAUSE_MS = 150;
const nothing: Memories = {
  items: [],
  total: 0,
  answering: null,
  cursor: null,
  status: "loading",
  problem: null,
};

/** A day of the reader's as a moment: its beginning, or the beginning of the day behind it. */
export function momentOf(day: string, isEnd = false): string | undefined {
  if (!day) return undefined;
  const moment = new Date(`${day}T00:00`);
  if (Number.isNaN(moment.getTime())) return undefined;
  if (isEnd) moment.setDate(moment.getDate() + 1);
  return moment.toISOString();
}

export function queryOf(filter: Filter): MemoryQuery {
  const words = filter.query.trim();
  const { category, source, trust, about, project, pinned, doubted, order, state } = filter;
  const wanted: MemoryQuery = { category, source, trust, about, project };
  if (pinned) wanted.pinned = true;
  if (doubted) wanted.doubted = true;
  const times = {
    since: momentOf(filter.since),
    until: momentOf(filter.until, true),
    as_of: momentOf(filter.asOf, true),
  };
  for (const [name, value] of Object.entries(times))
    if (value) Object.assign(wanted, { [name]: value });
  // A search finds what is in use; the server refuses it for other states.
  if (words) return { ...wanted, query: words };
  return { ...wanted, state, ...(order === "category" && { order }) };
}

/** The first memories, as many as are `shown` already. */
async function first(
  wanted: MemoryQuery,
  shown: number,
  signal?: AbortSignal,
): Promise<MemoryPage> {
  if (wanted.query) return memoryApi.list({ ...wanted, limit: FOUND }, signal);
  const least = Math.min(shown, AGAIN_AT_MOST);
  const limit = least > PAGE ? MOST : PAGE;
  let page = await memoryApi.list({ ...wanted, limit }, signal);
  while (page.cursor && page.items.length < least) {
    const next = await memoryApi.list({ ...wanted, limit, cursor: page.cursor }, signal);
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
  const key = JSON.stringify(queryOf(filter));
  const wanted = useMemo((): MemoryQuery => JSON.parse(key), [key]);
  const shown = useRef({ of: wanted, number: 0 });
  const read = useCallback(
    async (signal?: AbortSignal) => {
      asked.current += 1;
      const mine = asked.current;
      const number = shown.current.of === wanted ? shown.current.number : 0;
      try {
        const page = await first(wanted, number, signal);
        const answering = page.answering ?? null;
        if (mine === asked.current)
          setMemories({ ...page, answering, status: "ready", problem: null });
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
      const page = await memoryApi.list({ ...wanted, limit: PAGE, cursor });
      shown.current = { of: wanted, number: items.length + page.items.length };
      behind((now) => ({ ...now, items: [...items, ...page.items], cursor: page.cursor }));
    } catch (error) {
      behind((now) => ({ ...now, problem: asProblem(error) }));
    }
  };
  return { memories, more, read };
}
