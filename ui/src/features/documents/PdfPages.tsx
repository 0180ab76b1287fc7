import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useRef, useState } from "react";
import { documentsApi } from "../../api/documents";
import { t } from "../../i18n";
import { Skeleton } from "../../kit/pieces";
import { type PageMark, PdfSheet, type SheetSize } from "./PdfSheet";
import { openPdf, type Pdf } from "./pdf";
import type { Target } from "./useTarget";
import viewer from "./Viewer.module.css";

const GAP_PX = 16;
const A4: SheetSize = { width: 595, height: 842 };

type PagesProps = {
  id: string;
  content: string;
  /** 1 is the width of the page; other values are larger or smaller. */
  zoom: number;
  target: Target | null;
  mark: PageMark | null;
  onCount: (count: number) => void;
  onPage: (number: number) => void;
  /** It cannot be drawn: its text is there. */
  onProblem: (error: unknown) => void;
  onUnmarked: () => void;
};

/** How much of the box its widest page fills at zoom 1; never more than twice the size of paper. */
function fitted(box: HTMLElement | null, { width }: SheetSize): number {
  const room = (box?.clientWidth ?? 800) - 48;
  return Math.min(2, Math.max(0.3, room / width));
}

export default function PdfPages(props: PagesProps) {
  const { id, content, zoom, target, mark, onCount, onPage, onProblem, onUnmarked } = props;
  const box = useRef<HTMLDivElement>(null);
  const [pdf, setPdf] = useState<Pdf | null>(null);
  const [sizes, setSizes] = useState<ReadonlyMap<number, SheetSize>>(new Map());
  const [fit, setFit] = useState(1);
  const told = useRef({ onCount, onProblem });
  told.current = { onCount, onProblem };
  useEffect(() => {
    const { pdf: opening, close } = openPdf(documentsApi.addressOfFile(id, content));
    let isHere = true;
    const open = async () => {
      const opened = await opening;
      const { width, height } = (await opened.getPage(1)).getViewport({ scale: 1 });
      if (!isHere) return;
      setFit(Math.min(1.4, fitted(box.current, { width, height })));
      setSizes(new Map([[1, { width, height }]]));
      setPdf(opened);
      told.current.onCount(opened.numPages);
    };
    open().catch((error) => isHere && told.current.onProblem(error));
    return () => {
      isHere = false;
      close();
    };
  }, [id, content]);
  const scale = fit * zoom;
  const sizeOf = useCallback((number: number) => sizes.get(number) ?? sizes.get(1) ?? A4, [sizes]);
  const rows = useVirtualizer({
    count: pdf?.numPages ?? 0,
    getScrollElement: () => box.current,
    estimateSize: (index) => sizeOf(index + 1).height * scale + GAP_PX,
    overscan: 1,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: pages have other heights then
  useEffect(() => rows.measure(), [rows, scale, sizes]);
  const learn = (number: number, size: SheetSize) =>
    setSizes((now) => {
      const known = now.get(number);
      const isSame = known?.width === size.width && known.height === size.height;
      return isSame ? now : new Map([...now, [number, size]]);
    });
  // Where its reader is, by what stands in the middle of the box.
  const middle = (rows.scrollOffset ?? 0) + (box.current?.clientHeight ?? 0) / 2;
  const current = (rows.getVirtualItemForOffset(middle)?.index ?? 0) + 1;
  useEffect(() => onPage(current), [current, onPage]);
  const reached = useRef<Target | null>(null);
  useEffect(() => {
    if (!pdf || !target || reached.current === target) return;
    reached.current = target;
    rows.scrollToIndex(Math.min(pdf.numPages, target.page) - 1, { align: "start" });
  }, [pdf, target, rows]);
  const centred = useRef<PageMark | null>(null);
  const marked = (first: HTMLElement | null) => {
    if (centred.current === mark) return;
    centred.current = mark;
    if (first) first.scrollIntoView({ block: "center", inline: "nearest" });
    else onUnmarked();
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: pages are scrolled with the keyboard
    <section ref={box} className={`${viewer.pdfPages} scroll`} tabIndex={0} aria-label={t("Pages")}>
      {!pdf && <Skeleton lines={8} label={t("Loading the document")} />}
      <div
        className={viewer.pdfStack}
        style={{ height: rows.getTotalSize(), minWidth: sizeOf(1).width * scale }}
      >
        {pdf &&
          rows.getVirtualItems().map(({ index, start, key }) => (
            <div key={key} className={viewer.pdfPlace} style={{ translate: `0 ${start}px` }}>
              <PdfSheet
                pdf={pdf}
                number={index + 1}
                scale={scale}
                size={sizeOf(index + 1)}
                mark={target?.page === index + 1 ? mark : null}
                onSize={learn}
                onProblem={onProblem}
                onMarked={marked}
              />
            </div>
          ))}
      </div>
    </section>
  );
}
