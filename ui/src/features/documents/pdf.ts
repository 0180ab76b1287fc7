// pdf.js, fetched with the first PDF that is opened. It reads the file by parts, in a worker of our own origin.
import {
  GlobalWorkerOptions,
  getDocument,
  type PDFDocumentProxy,
  type PDFPageProxy,
  TextLayer,
} from "pdfjs-dist";
import PdfWorker from "pdfjs-dist/build/pdf.worker.mjs?worker";

declare const PDF_ASSETS: string;
/** Of a file so much is fetched at once: fewer requests than the 64 kB that pdf.js takes. */
const RANGE_BYTES = 2 ** 18;

export type Pdf = PDFDocumentProxy;
export type PdfPage = PDFPageProxy;

/** Opens a PDF; `close` ends what reads it. */
export function openPdf(url: string): { pdf: Promise<Pdf>; close: () => void } {
  GlobalWorkerOptions.workerPort ??= new PdfWorker();
  const task = getDocument({
    url,
    cMapUrl: `${PDF_ASSETS}cmaps/`,
    standardFontDataUrl: `${PDF_ASSETS}standard_fonts/`,
    wasmUrl: `${PDF_ASSETS}wasm/`,
    useWasm: false,
    rangeChunkSize: RANGE_BYTES,
    disableAutoFetch: true,
    disableStream: true,
    // A page is drawn as it is printed: nothing in it runs, and no form is filled in.
    enableXfa: false,
    verbosity: 0,
  });
  return { pdf: task.promise, close: () => void task.destroy() };
}

/** More pixels than this are not drawn, whatever the zoom. */
const MOST_PIXELS = 16_000_000;

export type Drawing = { spans: readonly HTMLElement[]; words: readonly string[] };

/** Draws a page and lays its words over it. */
export async function drawPage(
  page: PdfPage,
  on: { canvas: HTMLCanvasElement; layer: HTMLElement; scale: number },
  signal: AbortSignal,
): Promise<Drawing> {
  const { canvas, layer, scale } = on;
  const viewport = page.getViewport({ scale });
  const { width, height } = viewport;
  const ratio = Math.min(devicePixelRatio || 1, Math.sqrt(MOST_PIXELS / (width * height)));
  canvas.width = Math.floor(width * ratio);
  canvas.height = Math.floor(height * ratio);
  const drawing = page.render({
    canvas,
    viewport,
    ...(ratio === 1 ? {} : { transform: [ratio, 0, 0, ratio, 0, 0] }),
  });
  signal.addEventListener("abort", () => drawing.cancel());
  const text = new TextLayer({
    textContentSource: page.streamTextContent(),
    container: layer,
    viewport,
  });
  signal.addEventListener("abort", () => text.cancel());
  layer.replaceChildren();
  await Promise.all([drawing.promise, text.render()]);
  return { spans: text.textDivs, words: text.textContentItemsStr };
}
