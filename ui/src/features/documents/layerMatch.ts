// Finds in the words of a drawn page what was read of it. The two differ in spaces, hyphens, marks of Markdown
// and in how words are cut into pieces: only letters and digits are compared.

export type LayerSpan = { item: number; begin: number; end: number };

const LETTER = /[\p{L}\p{N}]/u;
/** So many letters at an end of a passage tell where it is, if the whole is not found. */
const ANCHORS = [48, 24, 12] as const;
/** A line this long that stands in the passage belongs to it. */
const LINE = 12;

type Letters = { text: string; places: readonly (readonly [item: number, index: number])[] };

function lettersOf(items: readonly string[]): Letters {
  const places: [number, number][] = [];
  let text = "";
  for (const [item, words] of items.entries()) {
    for (let index = 0; index < words.length; ) {
      const character = String.fromCodePoint(words.codePointAt(index) ?? 0);
      for (const letter of character.normalize("NFKD").toLowerCase()) {
        if (!LETTER.test(letter)) continue;
        text += letter;
        for (let unit = 0; unit < letter.length; unit++) places.push([item, index]);
      }
      index += character.length;
    }
  }
  return { text, places };
}

const plain = (words: string) => lettersOf([words]).text;

/** How often `needle` begins in `text` before `until`. */
function countBefore(text: string, needle: string, until: number): number {
  let count = 0;
  for (let at = text.indexOf(needle); at >= 0 && at < until; at = text.indexOf(needle, at + 1)) {
    count += 1;
  }
  return count;
}

/** Where the occurrence with this number is; the last one if there are fewer. */
function nth(text: string, needle: string, number: number): number {
  let at = text.indexOf(needle);
  for (let i = 0; i < number; i++) {
    const next = text.indexOf(needle, at + 1);
    if (next < 0) break;
    at = next;
  }
  return at;
}

/** Where a passage begins and ends in letters, known by its two ends alone. */
function byEnds(text: string, needle: string): [number, number] | null {
  for (const length of ANCHORS) {
    if (needle.length < 2 * length) continue;
    const begin = text.indexOf(needle.slice(0, length));
    const last = begin < 0 ? -1 : text.indexOf(needle.slice(-length), begin + length);
    const end = last + length;
    if (last >= 0 && end - begin < 2 * needle.length) return [begin, end];
  }
  return null;
}

/** Signs at an end of what is marked belong to it, if no letter stands beyond them. */
function widened({ item, begin, end }: LayerSpan, words: string): LayerSpan {
  return {
    item,
    begin: LETTER.test(words.slice(0, begin)) ? begin : 0,
    end: LETTER.test(words.slice(end)) ? end : words.length,
  };
}

function spansOf(
  items: readonly string[],
  { places }: Letters,
  begin: number,
  end: number,
): LayerSpan[] {
  const spans: LayerSpan[] = [];
  for (let at = begin; at < end; at++) {
    const [item, index] = places[at] ?? [0, 0];
    const last = spans.at(-1);
    if (last?.item === item) last.end = index + 1;
    else spans.push({ item, begin: index, end: index + 1 });
  }
  return spans.map((span) => widened(span, items[span.item] ?? ""));
}

/** Lines of the page that stand in the passage, whatever their order. */
function byLines(items: readonly string[], needle: string): LayerSpan[] {
  return items.flatMap((words, item) => {
    const letters = plain(words);
    const fits = letters.length >= LINE && needle.includes(letters);
    return fits ? [{ item, begin: 0, end: words.length }] : [];
  });
}

/**
 * The parts of a drawn page's `items` that are characters `begin` to `end` (a string's indices) of `text`, which
 * was read of that page. Empty if it is not found.
 */
export function layerSpans(
  items: readonly string[],
  text: string,
  [begin, end]: readonly [number, number],
): LayerSpan[] {
  const layer = lettersOf(items);
  const needle = plain(text.slice(begin, end));
  if (!needle) return [];
  if (layer.text.includes(needle)) {
    const read = plain(text);
    const number = countBefore(read, needle, plain(text.slice(0, begin)).length);
    const at = nth(layer.text, needle, number);
    return spansOf(items, layer, at, at + needle.length);
  }
  const ends = byEnds(layer.text, needle);
  return ends ? spansOf(items, layer, ...ends) : byLines(items, needle);
}
