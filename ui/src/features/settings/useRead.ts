import { useCallback, useEffect, useRef, useState } from "react";
import { asProblem, type Problem } from "../../api/client";

export type Reading<T> = {
  value: T | null;
  problem: Problem | null;
  read: () => Promise<void>;
  set: (value: T) => void;
};

/** What the server tells, read when this part is shown and whenever `read` is called. */
export function useRead<T>(ask: (signal: AbortSignal) => Promise<T>): Reading<T> {
  const [value, set] = useState<T | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const asking = useRef<AbortController>(undefined);
  const read = useCallback(async () => {
    asking.current?.abort();
    const abort = new AbortController();
    asking.current = abort;
    try {
      set(await ask(abort.signal));
      setProblem(null);
    } catch (error) {
      if (!abort.signal.aborted) setProblem(asProblem(error));
    }
  }, [ask]);
  useEffect(() => {
    void read();
    return () => asking.current?.abort();
  }, [read]);
  return { value, problem, read, set };
}
