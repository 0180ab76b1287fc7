import { useCallback, useEffect, useRef, useState } from "react";
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

/**
 * What the server tells, read when this part is shown, when `news` is another, whenever `read` is called,
 * and when somebody comes back to the page, but where it `stays`.
 */
export function useRead<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  news?: unknown,
  stays = false,
): Reading<T> {
  const [value, setValue] = useState<T | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const asking = useRef<AbortController>(undefined);
  const isKnown = useRef(false);
  const answer = useCallback(
    async (how = ask, quiet = false) => {
      asking.current?.abort();
      const abort = new AbortController();
      asking.current = abort;
      try {
        const found = await how(abort.signal);
        if (abort.signal.aborted) return;
        isKnown.current = true;
        setValue(found);
        setProblem(null);
      } catch (error) {
        if (abort.signal.aborted || (quiet && isKnown.current)) return;
        setProblem(asProblem(error));
      }
    },
    [ask],
  );
  const read = useCallback((how = ask) => answer(how), [answer, ask]);
  const look = useCallback(() => answer(ask, true), [answer, ask]);
  useReturn(() => stays || look());
  const change = useCallback((from: (now: T) => T) => {
    // What was asked for earlier is older than this.
    asking.current?.abort();
    setValue((now) => now && from(now));
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `news` says when to read it anew
  useEffect(() => {
    void read();
    return () => asking.current?.abort();
  }, [read, news]);
  return { value, problem, read, look, change };
}
