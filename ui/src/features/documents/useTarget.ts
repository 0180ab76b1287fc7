import { useEffect, useState } from "react";
import { documentsApi } from "../../api/documents";
import type { Span } from "../../services/router";
import type { PageMark } from "./PdfSheet";

/** A page that its reader came for, and the part of it that is marked. Another object is another wish. */
export type Target = { page: number; at: Span | null };

/** What the marked part of a page is of: the text that was read of it. */
export function useMark(id: string, content: string, target: Target | null): PageMark | null {
  const [mark, setMark] = useState<PageMark | null>(null);
  useEffect(() => {
    setMark(null);
    const { page, at } = target ?? {};
    if (!page || !at) return;
    const abort = new AbortController();
    documentsApi.pages(id, { content, first: page, last: page }, abort.signal).then(
      ({ items }) => {
        const text = items[0]?.text;
        if (text && !abort.signal.aborted) setMark({ text, at });
      },
      // The page is shown without a mark then; why its text is not there, the text's own view says.
      () => undefined,
    );
    return () => abort.abort();
  }, [id, content, target]);
  return mark;
}
