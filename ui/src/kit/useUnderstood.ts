import { useEffect, useState } from "react";
import { asProblem } from "../api/client";

export type Understood = {
  /** What will be made, part by part. */
  chips: readonly string[];
  /** What it could mean, each with the line that says so; one is to be chosen. */
  choices: readonly { words: string; text: string }[];
  /** What is not understood, in a sentence. */
  problem?: string;
};

type Understand = (text: string, signal: AbortSignal) => Promise<Understood>;

const TYPING_PAUSE_MS = 150;
const nothing: Understood = { chips: [], choices: [] };

/** What a line would be taken for, while it is typed, and why it would not be. */
export function useUnderstood(text: string, understand: Understand, isKeptAway: boolean) {
  const [understood, setUnderstood] = useState(nothing);
  const [why, setWhy] = useState("");
  useEffect(() => {
    setWhy("");
    if (!text) setUnderstood(nothing);
    if (!text) return;
    const abort = new AbortController();
    const read = async () => {
      try {
        const found = await understand(text, abort.signal);
        if (!abort.signal.aborted) setUnderstood(found);
      } catch (error) {
        if (abort.signal.aborted) return;
        const problem = asProblem(error);
        setUnderstood(nothing);
        // Without the server it is kept as it is.
        if (problem.code !== "unreachable" || !isKeptAway) setWhy(problem.detail || problem.title);
      }
    };
    const timer = setTimeout(() => void read(), TYPING_PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text, understand, isKeptAway]);
  return { understood, why, setWhy };
}
