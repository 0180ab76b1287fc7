// How files of a conversation are shown, and what of an HTML table is: its cells' text, and nothing else.
import type { Attachment } from "../../api/types";
import { bareTags } from "./bareTags";

export type Face = "picture" | "table" | "file";

/** What the server gives to be shown by itself. Any other picture could carry a script. */
export const PICTURES: readonly string[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

export function faceOf({ media_type }: Pick<Attachment, "media_type">): Face {
  if (PICTURES.includes(media_type)) return "picture";
  return media_type === "text/html" ? "table" : "file";
}

export type Cell = { text: string; head: boolean; columns: number; rows: number };
export type Row = readonly Cell[];
export type Table = { head: readonly Row[]; body: readonly Row[]; left: number };

/** Rows and columns beyond these are to be had by downloading the file. */
export const MOST_ROWS = 1000;
const MOST_COLUMNS = 60;

const cellOf = (cell: HTMLTableCellElement): Cell => ({
  text: (cell.textContent ?? "").trim(),
  head: cell.tagName === "TH",
  columns: Math.min(cell.colSpan, MOST_COLUMNS),
  rows: Math.min(cell.rowSpan, MOST_ROWS),
});

const rowOf = (row: HTMLTableRowElement): Row => [...row.cells].slice(0, MOST_COLUMNS).map(cellOf);

/** The first table of a page; null where there is none. The page is parsed, never run nor drawn. */
export function tableIn(html: string): Table | null {
  const table = new DOMParser().parseFromString(bareTags(html), "text/html").querySelector("table");
  if (!table) return null;
  const head = [...(table.tHead?.rows ?? [])];
  const body = [...table.rows].filter((row) => !head.includes(row));
  return {
    head: head.map(rowOf),
    body: body.slice(0, MOST_ROWS).map(rowOf),
    left: Math.max(0, body.length - MOST_ROWS),
  };
}
