import { useCallback, useRef, useState } from "react";

/** A question that something waits for: `ask` opens it, `answer` settles it; null is no answer. */
export function useQuestion<Q, A>() {
  const [question, setQuestion] = useState<Q | null>(null);
  const waiting = useRef<((answer: A | null) => void) | null>(null);
  const ask = useCallback((what: Q) => {
    waiting.current?.(null);
    setQuestion(() => what);
    return new Promise<A | null>((settle) => {
      waiting.current = settle;
    });
  }, []);
  const answer = useCallback((given: A | null) => {
    setQuestion(null);
    waiting.current?.(given);
    waiting.current = null;
  }, []);
  return { question, ask, answer };
}
