import { skipToken, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useId, useMemo, useRef, useState } from "react";
import { asProblem, type Problem } from "../api/client";
import { useReturn } from "./useReturn";

export type Reading<T> = {
  value: T | null;
  problem: Problem | null;
  /** Asks anew, in another way where one is given; an earlier question is not waited for any more. */
  read: (how?: (signal: AbortSignal) => Promise<T>) => Promise<void>;
  /** Asks anew behind what is shown, which stays where no answer comes. */
  look: () => Promise<void>;
  /** Takes in what became known otherwise. */
  change: (from: (now: T) => T) => void;
};

/** How long what was read is kept for the next part that shows it. */
const KEPT_MS = 10 * 60_000;

/**
 * What the server tells, read when this part is shown, when `news` is another, whenever `read` is called,
 * and when somebody comes back to the page, or the server, but where it `stays` once known. With a `key`, all parts that read the same share what
 * is known, and one that is shown again has it at once, while it is read anew.
 */
export function useRead<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  news?: unknown,
  stays = false,
  key?: string,
): Reading<T> {
  const client = useQueryClient();
  const own = useId();
  const place = useMemo(() => [key ?? own], [key, own]);
  const gcTime = key === undefined ? 0 : KEPT_MS;
  const { data } = useQuery<T>({ queryKey: place, queryFn: skipToken, gcTime });
  const value = data ?? null;
  const [problem, setProblem] = useState<Problem | null>(null);
  const asking = useRef<AbortController>(undefined);
  const isKnown = useCallback(() => client.getQueryData(place) !== undefined, [client, place]);
  const answer = useCallback(
    async (how = ask, quiet = false) => {
      asking.current?.abort();
      const abort = new AbortController();
      asking.current = abort;
      try {
        const found = await how(abort.signal);
        if (abort.signal.aborted) return;
        client.setQueryData(place, found);
        setProblem(null);
      } catch (error) {
        if (abort.signal.aborted || (quiet && isKnown())) return;
        setProblem(asProblem(error));
      }
    },
    [ask, client, place, isKnown],
  );
  const read = useCallback((how = ask) => answer(how), [answer, ask]);
  const look = useCallback(() => answer(ask, true), [answer, ask]);
  useReturn(() => (stays && isKnown()) || look());
  const change = useCallback(
    (from: (now: T) => T) => {
      // What was asked for earlier is older than this.
      asking.current?.abort();
      client.setQueryData<T>(place, (now) => now && from(now));
    },
    [client, place],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: `news` says when to read it anew
  useEffect(() => {
    void read();
    return () => asking.current?.abort();
  }, [read, news]);
  return { value, problem, read, look, change };
}
