import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { asProblem, type Problem } from "../../api/client";
import { type Task, type TaskList, type TaskQuery, tasksApi } from "../../api/tasks";
import { useApp } from "../../services/context";
import { useNews } from "../../services/news";
import { useReturn } from "../../services/useReturn";

type Listed = {
  items: readonly Task[];
  counts: TaskList["counts"];
  cursor: string | null;
  isKnown: boolean;
  problem: Problem | null;
};

const PAGE = 200;
const AGAIN_AT_MOST = 2000;
const nothing: Listed = { items: [], counts: {}, cursor: null, isKnown: false, problem: null };

async function first(query: TaskQuery, least: number): Promise<TaskList> {
  let page = await tasksApi.list({ limit: PAGE, ...query });
  while (page.cursor && page.items.length < Math.min(least, AGAIN_AT_MOST)) {
    const next = await tasksApi.list({ limit: PAGE, ...query, cursor: page.cursor });
    page = { ...next, items: [...page.items, ...next.items] };
  }
  return page;
}

/** The tasks that fit, a page at a time. Those shown stay until newer ones are there. */
export function useTasks(query: TaskQuery) {
  const { plannerNews } = useApp();
  const [listed, setListed] = useState(nothing);
  const asked = useRef(0);
  const shown = useRef(0);
  const key = JSON.stringify(query);
  const wanted = useMemo(() => JSON.parse(key) as TaskQuery, [key]);
  const latest = useRef(Promise.resolve());
  const read = useCallback(() => {
    asked.current += 1;
    const mine = asked.current;
    const answer = async () => {
      try {
        const page = await first(wanted, shown.current);
        // Who waits for this wants to see what is true now.
        if (mine !== asked.current) return latest.current;
        shown.current = page.items.length;
        setListed({ ...page, isKnown: true, problem: null });
      } catch (error) {
        if (mine === asked.current) setListed((now) => ({ ...now, problem: asProblem(error) }));
      }
    };
    latest.current = answer();
    return latest.current;
  }, [wanted]);
  useEffect(() => {
    shown.current = 0;
    void read();
  }, [read]);
  useNews(plannerNews, read);
  useReturn(read);
  const reading = useRef<string>(undefined);
  const more = async () => {
    const { cursor, problem } = listed;
    if (!cursor || problem || reading.current === cursor) return;
    reading.current = cursor;
    const mine = asked.current;
    try {
      const page = await tasksApi.list({ limit: PAGE, ...wanted, cursor });
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
  return { ...listed, read, more };
}

export type Tasks = ReturnType<typeof useTasks>;
