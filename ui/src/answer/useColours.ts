import { useEffect, useRef, useState } from "react";
import { CHUNK_LINES, type Coloured, colours } from "./colours";

/** Whole chunks of code in the order of their lines; the last may be short. */
export function chunksOf(text: string): string[] {
  const chunks: string[] = [];
  let begin = 0;
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
    count += 1;
    if (count % CHUNK_LINES) continue;
    chunks.push(text.slice(begin, at + 1));
    begin = at + 1;
  }
  if (begin < text.length || !chunks.length) chunks.push(text.slice(begin));
  return chunks;
}

type Known = { language: string; text: string; chunks: readonly Coloured[] };

const NONE: Known = { language: "", text: "", chunks: [] };
const textOf = (chunk: Coloured | undefined) => chunk?.map(([text]) => text).join("");

/** What is new; chunks that say the same as before stay the same objects, so that they are not drawn anew. */
function merged(old: Known, language: string, text: string, fresh: readonly Coloured[]): Known {
  const known = old.language === language ? old.chunks : [];
  const chunks = fresh.map((chunk, i) => {
    const before = known[i];
    return before && textOf(before) === textOf(chunk) ? before : chunk;
  });
  return { language, text, chunks };
}

/**
 * The colours of code by chunks, as far as they are known. What is still being written is coloured
 * when a chunk of it is complete, and never twice at a time.
 */
export function useColours(language: string, text: string, isOpen: boolean): readonly Coloured[] {
  const [known, setKnown] = useState(NONE);
  const isAsked = useRef(false);
  const isGone = useRef(false);
  const wanted = isOpen ? text.slice(0, text.length - (chunksOf(text).at(-1)?.length ?? 0)) : text;
  useEffect(() => {
    const isKnown = known.text === wanted && known.language === language;
    if (isAsked.current || !wanted || isKnown) return;
    isAsked.current = true;
    void colours.of(language, wanted).then((chunks) => {
      isAsked.current = false;
      if (!isGone.current) setKnown((old) => merged(old, language, wanted, chunks ?? []));
    });
  }, [wanted, language, known]);
  useEffect(() => {
    isGone.current = false;
    return () => {
      isGone.current = true;
    };
  }, []);
  return known.chunks;
}
