// What a search of the library found, as it is shown. Places count characters, of which an emoji is one;
// a string's own indices count it as two.
import type { PassageHit } from "../../api/documents";
import type { Span } from "../../services/router";

export type HitGroup = { document: PassageHit["document"]; hits: readonly PassageHit[] };

/** The passages of each document together; the one with the best passage first. */
export function groupsOf(hits: readonly PassageHit[]): HitGroup[] {
  const groups = new Map<string, PassageHit[]>();
  for (const hit of hits) {
    const known = groups.get(hit.document.id);
    if (known) known.push(hit);
    else groups.set(hit.document.id, [hit]);
  }
  return [...groups.values()].flatMap((all) =>
    all[0] ? [{ document: all[0].document, hits: all }] : [],
  );
}

export type Piece = { text: string; marked: boolean; at: number };

/** A text in pieces, those within `marks` marked. */
export function piecesOf(text: string, marks: readonly Span[]): Piece[] {
  const characters = Array.from(text);
  const pieces: Piece[] = [];
  let done = 0;
  const add = (until: number, marked: boolean) => {
    if (until > done)
      pieces.push({ text: characters.slice(done, until).join(""), marked, at: done });
    done = Math.max(done, until);
  };
  for (const [begin, end] of marks.toSorted((a, b) => a[0] - b[0])) {
    add(Math.min(begin, characters.length), false);
    add(Math.min(end, characters.length), true);
  }
  add(characters.length, false);
  return pieces;
}

/** A piece without the marks of Markdown, which say nothing in an excerpt. */
const plain = (piece: Piece): Piece => ({
  ...piece,
  text: piece.text
    .replace(/(^|\n)#{1,6} +/g, "$1")
    .replace(/\|[ :|-]*-{3}[ :|-]*\|/g, " ")
    .replace(/\*\*|__/g, "")
    .replace(/ *\| */g, "  "),
});

/** Long enough to tell a passage, short enough to read many. */
const SHOWN = 320;
const BEFORE = 80;

/** The part of a passage around its first marked word, with its marks in it. */
export function excerptOf({ text, marks }: { text: string; marks: readonly Span[] }): Piece[] {
  const characters = Array.from(text);
  const first = marks.length ? Math.min(...marks.map(([begin]) => begin)) : 0;
  let from = characters.length > SHOWN ? Math.max(0, first - BEFORE) : 0;
  if (from > 0) {
    const space = characters.indexOf(" ", from);
    if (space > 0 && space < first) from = space + 1;
  }
  const part = characters.slice(from, from + SHOWN);
  const moved = marks
    .map(([begin, end]) => [begin - from, end - from] as const)
    .filter(([begin]) => begin >= 0 && begin < part.length);
  const pieces = piecesOf(part.join(""), moved);
  const dots = (at: number) => ({ text: "…", marked: false, at });
  return [
    ...(from > 0 ? [dots(-1)] : []),
    ...pieces.map(plain),
    ...(from + SHOWN < characters.length ? [dots(SHOWN)] : []),
  ];
}

/** A place as the indices of a string. */
export function indicesOf(text: string, [begin, end]: Span): [number, number] {
  const characters = Array.from(text);
  const before = characters.slice(0, begin).join("").length;
  return [before, before + characters.slice(begin, end).join("").length];
}

/** Indices of a string as a place. */
export const placeOf = (text: string, begin: number, end: number): [number, number] => {
  const before = Array.from(text.slice(0, begin)).length;
  return [before, before + Array.from(text.slice(begin, end)).length];
};
