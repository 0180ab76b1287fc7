import { useEffect, useRef } from "react";
import { t } from "../../i18n";
import type { Span } from "../../services/router";
import { indicesOf } from "./hits";
import { layerSpans } from "./layerMatch";
import { type Drawing, drawPage, type Pdf } from "./pdf";
import viewer from "./Viewer.module.css";

export type SheetSize = { width: number; height: number };
/** A part of a page that is marked: characters of the text that was read of it. */
export type PageMark = { text: string; at: Span };

type SheetProps = {
  pdf: Pdf;
  number: number;
  scale: number;
  /** Its size in points, as far as it is known. */
  size: SheetSize;
  mark: PageMark | null;
  onSize: (number: number, size: SheetSize) => void;
  onProblem: (error: unknown) => void;
  /** Where the marked part begins; null if it is not found on the page. */
  onMarked: (first: HTMLElement | null) => void;
};

/** Marks the part in the words of a page; gives its first piece. */
function markIn({ spans, words }: Drawing, mark: PageMark): HTMLElement | null {
  let first: HTMLElement | null = null;
  for (const { item, begin, end } of layerSpans(words, mark.text, indicesOf(mark.text, mark.at))) {
    const span = spans[item];
    const said = words[item] ?? "";
    if (!span) continue;
    const marked = Object.assign(document.createElement("mark"), {
      textContent: said.slice(begin, end),
    });
    span.replaceChildren(said.slice(0, begin), marked, said.slice(end));
    first ??= marked;
  }
  return first;
}

function unmark({ spans, words }: Drawing): void {
  for (const [item, span] of spans.entries()) {
    if (span.querySelector("mark")) span.textContent = words[item] ?? "";
  }
}

/** One page of a PDF: its picture, and its words over it to be selected, read aloud and marked. */
export function PdfSheet(props: SheetProps) {
  const { pdf, number, scale, size, mark, onSize, onProblem, onMarked } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const layer = useRef<HTMLDivElement>(null);
  const drawing = useRef<Drawing | null>(null);
  const wanted = useRef(mark);
  wanted.current = mark;
  const show = useRef<() => void>(() => undefined);
  show.current = () => {
    const drawn = drawing.current;
    if (!drawn) return;
    unmark(drawn);
    if (wanted.current) onMarked(markIn(drawn, wanted.current));
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is drawn anew for another page or size alone
  useEffect(() => {
    const abort = new AbortController();
    const draw = async () => {
      const page = await pdf.getPage(number);
      const { width, height } = page.getViewport({ scale: 1 });
      if (abort.signal.aborted || !canvas.current || !layer.current) return;
      onSize(number, { width, height });
      const on = { canvas: canvas.current, layer: layer.current, scale };
      drawing.current = await drawPage(page, on, abort.signal);
      if (!abort.signal.aborted) show.current();
    };
    draw().catch((error) => abort.signal.aborted || onProblem(error));
    return () => {
      abort.abort();
      drawing.current = null;
    };
  }, [pdf, number, scale]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another part is marked
  useEffect(() => show.current(), [mark]);
  return (
    <section
      className={viewer.pdfSheet}
      aria-label={t("Page {number}", { number })}
      style={{ width: size.width * scale, height: size.height * scale }}
    >
      <canvas ref={canvas} aria-hidden />
      <div
        ref={layer}
        className={viewer.pdfWords}
        style={{ "--total-scale-factor": scale } as React.CSSProperties}
      />
    </section>
  );
}
