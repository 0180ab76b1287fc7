// Looks for words in what the pages of a document say, page by page from where its reader is.
import type { PageText, PageTexts } from "../../api/documents";
import type { Span } from "../../services/router";
import { placeOf } from "./hits";

export type Found = { page: number; at: Span };
type Read = (first: number, last: number) => Promise<PageTexts>;

const AT_ONCE = 50;
const SPECIAL = /[.*+?^${}()|[\]\\]/g;

/** What may stand between two words: spaces, and what Markdown puts around them. */
const BETWEEN = "[\\s*_`|]+";

/** The words as they may stand in a text, whatever their case. */
export function patternOf(query: string): RegExp | null {
  const words = query.trim().split(/\s+/).filter(Boolean);
  if (!words.length) return null;
  return new RegExp(words.map((word) => word.replace(SPECIAL, "\\$&")).join(BETWEEN), "giu");
}

/** All places of a page that say it, in their order. */
export function placesIn({ number, text }: PageText, pattern: RegExp): Found[] {
  return [...text.matchAll(pattern)].map((match) => ({
    page: number,
    at: placeOf(text, match.index, match.index + match[0].length),
  }));
}

const isBehind = (a: Found, b: Found) =>
  a.page > b.page || (a.page === b.page && a.at[0] > b.at[0]);

/** The next place behind `from`, or before it if `back`; it begins anew at the other end. Null if there is none. */
export async function findNext(
  query: string,
  from: Found,
  how: { back: boolean; count: number; read: Read; signal: AbortSignal },
): Promise<Found | null> {
  const pattern = patternOf(query);
  if (!pattern) return null;
  const { back, count } = how;
  const blocks = Math.ceil(count / AT_ONCE);
  const own = Math.floor((from.page - 1) / AT_ONCE);
  // The block of `from` is looked at twice: behind it at first, and up to it at last.
  for (let step = 0; step <= blocks; step++) {
    const block = (((own + (back ? -step : step)) % blocks) + blocks) % blocks;
    const { items } = await how.read(block * AT_ONCE + 1, Math.min(count, (block + 1) * AT_ONCE));
    if (how.signal.aborted) return null;
    const places = items.flatMap((page) => placesIn(page, pattern));
    const isFirst = step === 0;
    const fit = places.filter((place) =>
      isFirst ? (back ? isBehind(from, place) : isBehind(place, from)) : true,
    );
    const found = back ? fit.at(-1) : fit[0];
    if (found) return found;
  }
  return null;
}
