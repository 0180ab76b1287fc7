import { useCallback, useMemo } from "react";
import { calendarApi, type Event } from "../../api/calendar";
import { shownOf } from "../../planner/shown";
import { useApp } from "../../services/context";
import { addDays, type Day, dateOf, rfc3339 } from "../../services/days";
import { useNews } from "../../services/news";
import { useRead } from "../../services/useRead";

/** The events of these days, both included. Those of earlier days stay until newer ones are there. */
export function useEvents(first: Day, last: Day) {
  const { plannerNews } = useApp();
  const ask = useCallback(
    async (signal: AbortSignal) => {
      const start = rfc3339(dateOf(first));
      const end = rfc3339(dateOf(addDays(last, 1)));
      return { ...(await calendarApi.events({ start, end }, signal)), first, last };
    },
    [first, last],
  );
  const { value, problem, read, look, change } = useRead(ask);
  useNews(plannerNews, look);
  const all = useMemo(() => (value?.items ?? []).map(shownOf), [value]);
  /** Shows a change before the server has answered. */
  const replace = useCallback(
    (id: string, patch: Partial<Event>) =>
      change((now) => ({
        ...now,
        items: now.items.map((each) => (each.id === id ? { ...each, ...patch } : each)),
      })),
    [change],
  );
  // What is shown is of these days, not of those before.
  const isRead = value?.first === first && value.last === last;
  const more = isRead && value.more === true;
  return { all, isKnown: value !== null, isRead, more, problem, read, look, replace };
}

export type Events = ReturnType<typeof useEvents>;
