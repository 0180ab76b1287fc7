import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { api, asProblem, type Problem } from "../../api/client";
import type { Memory } from "../../api/types";

export type Filter = { query: string; category: string; state: string };
export type Memories = {
  items: readonly Memory[];
  total: number;
  cursor: string | null;
  status: "loading" | "ready" | "failed";
  problem: Problem | null;
};

const PAGE = 100;
const TYPING_PAUSE_MS = 150;
const nothing: Memories = { items: [], total: 0, cursor: null, status: "loading", problem: null };

/** The memories that pass a filter, a page at a time. What is shown stays until newer answers are there. */
export function useMemories(filter: Filter) {
  const [memories, setMemories] = useState(nothing);
  const asked = useRef(0);
  const reading = useRef(false);
  const { query, category, state } = filter;
  const wanted = useMemo(() => {
    // A search finds what is true now; the server refuses it for other states.
    const asked = query.trim();
    return asked
      ? { limit: PAGE, query: asked, category }
      : { limit: PAGE, query: "", category, state };
  }, [query, category, state]);
  const read = useCallback(
    async (signal?: AbortSignal) => {
      asked.current += 1;
      const mine = asked.current;
      try {
        const page = await api.memories(wanted, signal);
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
  const more = async () => {
    const { cursor } = memories;
    if (!cursor || reading.current) return;
    reading.current = true;
    const mine = asked.current;
    try {
      const page = await api.memories({ ...wanted, cursor });
      if (mine === asked.current) {
        setMemories((now) => ({
          ...now,
          items: [...now.items, ...page.items],
          cursor: page.cursor,
        }));
      }
    } catch (error) {
      setMemories((now) => ({ ...now, problem: asProblem(error) }));
    } finally {
      reading.current = false;
    }
  };
  return { memories, more, read };
}
