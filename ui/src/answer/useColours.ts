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

/** How many chunks are known that a longer text has, too. */
const countKept = (known: Known, language: string, text: string) =>
  known.language === language && text.startsWith(known.text)
    ? Math.floor((known.text.match(/\n/g)?.length ?? 0) / CHUNK_LINES)
    : 0;

/**
 * The colours of code by chunks, as far as they are known. Its `last` chunk is still being written, unless it is null:
 * then it is not coloured yet. Nothing is coloured twice at a time.
 */
export function useColours(
  language: string,
  text: string,
  last: string | null,
): readonly Coloured[] {
  const [known, setKnown] = useState(NONE);
  const isAsked = useRef(false);
  const isGone = useRef(false);
  const wanted = last === null ? text : text.slice(0, -last.length || undefined);
  useEffect(() => {
    const isKnown = known.text === wanted && known.language === language;
    if (isAsked.current || !wanted || isKnown) return;
    isAsked.current = true;
    const from = Math.min(countKept(known, language, wanted), known.chunks.length);
    void colours.of(language, wanted, from).then((fresh) => {
      isAsked.current = false;
      const chunks = fresh ? [...known.chunks.slice(0, from), ...fresh] : [];
      if (!isGone.current) setKnown({ language, text: wanted, chunks });
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
