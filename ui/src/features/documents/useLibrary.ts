import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { asProblem, type Problem } from "../../api/client";
import { type Document, documentsApi, type ListQuery } from "../../api/documents";
import type { DocumentList } from "../../contract/openapi";
import { useApp } from "../../services/context";
import { useNews } from "../../services/news";
import { useAgain, useReturn } from "../../services/useReturn";
import { currentReading, isWorking } from "./words";

export type Sort = "changed" | "name" | "size";
export type Filter = { kind: string; stage: string; tag: string; sort: Sort };
export const noFilter: Filter = { kind: "", stage: "", tag: "", sort: "changed" };

export type Listed = {
  items: readonly Document[];
  cursor: string | null;
  status: "loading" | "ready" | "failed";
  problem: Problem | null;
};

const PAGE = 100;
/** Of a longer list that is read again, or sorted otherwise than the server does, its beginning is shown. */
const AT_MOST = 2000;
const LOOK_MS = 1000;
const nothing: Listed = { items: [], cursor: null, status: "loading", problem: null };

async function first(query: ListQuery, least: number, signal?: AbortSignal): Promise<DocumentList> {
  let page = await documentsApi.list({ ...query, limit: PAGE }, signal);
  while (page.cursor && page.items.length < Math.min(least, AT_MOST)) {
    const next = await documentsApi.list({ ...query, limit: PAGE, cursor: page.cursor }, signal);
    page = { items: [...page.items, ...next.items], cursor: next.cursor };
  }
  return page;
}

const orders: Record<Exclude<Sort, "changed">, (a: Document, b: Document) => number> = {
  name: (a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }),
  size: (a, b) => b.size - a.size,
};

/** The documents of a collection, or all, that pass a filter. While some are being read it looks again. */
export function useLibrary(collection: string | null, filter: Filter) {
  const { documentNews } = useApp();
  const [listed, setListed] = useState(nothing);
  const asked = useRef(0);
  const shown = useRef(0);
  const { kind, stage, tag, sort } = filter;
  const query = useMemo(
    (): ListQuery => ({ collection, kind, stage, tag }),
    [collection, kind, stage, tag],
  );
  const read = useCallback(
    async (quiet = false) => {
      asked.current += 1;
      const mine = asked.current;
      try {
        const page = await first(query, sort === "changed" ? shown.current : AT_MOST);
        if (mine !== asked.current) return;
        shown.current = page.items.length;
        setListed({ ...page, status: "ready", problem: null });
      } catch (error) {
        if (mine !== asked.current || quiet) return;
        setListed((now) => ({ ...now, status: "failed", problem: asProblem(error) }));
      }
    },
    [query, sort],
  );
  const look = useCallback(() => read(true), [read]);
  useEffect(() => {
    shown.current = 0;
    void read();
  }, [read]);
  useNews(documentNews, look);
  useReturn(look);
  const isBusy = listed.items.some((document) => isWorking(currentReading(document)));
  useAgain(isBusy, LOOK_MS, look);
  const reading = useRef<string>(undefined);
  const more = async () => {
    const { cursor, problem } = listed;
    if (!cursor || problem || reading.current === cursor || sort !== "changed") return;
    reading.current = cursor;
    const mine = asked.current;
    try {
      const page = await documentsApi.list({ ...query, limit: PAGE, cursor });
      if (mine !== asked.current) return;
      setListed((now) => {
        const items = [...now.items, ...page.items];
        shown.current = items.length;
        return { ...now, items, cursor: page.cursor };
      });
    } catch (error) {
      if (mine === asked.current) setListed((now) => ({ ...now, problem: asProblem(error) }));
    } finally {
      reading.current = undefined;
    }
  };
  const items = useMemo(
    () => (sort === "changed" ? listed.items : listed.items.toSorted(orders[sort])),
    [listed.items, sort],
  );
  return { listed: { ...listed, items }, more, read, isBusy };
}
