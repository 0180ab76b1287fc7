import { ChevronDown, ChevronUp, X } from "lucide-react";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { asProblem } from "../../api/client";
import { documentsApi } from "../../api/documents";
import { t } from "../../i18n";
import { IconButton } from "../../kit/Button";
import { type Found, findNext } from "./finding";
import viewer from "./Viewer.module.css";

type FindProps = {
  id: string;
  content: string;
  count: number;
  page: number;
  onFound: (found: Found) => void;
  onClose: () => void;
};

/** Finds words in the document, from where its reader is. */
export function FindBar({ id, content, count, page, onFound, onClose }: FindProps) {
  const [query, setQuery] = useState("");
  const [said, setSaid] = useState("");
  const last = useRef<Found | null>(null);
  const asking = useRef<AbortController>(undefined);
  useEffect(() => () => asking.current?.abort(), []);
  const find = async (back = false) => {
    if (!query.trim()) return;
    asking.current?.abort();
    const abort = new AbortController();
    asking.current = abort;
    const read = (first: number, until: number) =>
      documentsApi.pages(id, { content, first, last: until }, abort.signal);
    setSaid(t("Searching…"));
    try {
      const from = last.current ?? { page, at: [back ? Number.MAX_SAFE_INTEGER : -1, 0] as const };
      const found = await findNext(query, from, { back, count, read, signal: abort.signal });
      if (abort.signal.aborted) return;
      last.current = found;
      setSaid(found ? t("On page {page}", { page: found.page }) : t("Not in this document"));
      if (found) onFound(found);
    } catch (error) {
      if (!abort.signal.aborted) setSaid(asProblem(error).title);
    }
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Escape") onClose();
    else if (event.key === "Enter") void find(event.shiftKey);
    else return;
    event.preventDefault();
  };
  return (
    <search className={viewer.find}>
      <input
        className="input"
        type="search"
        // biome-ignore lint/a11y/noAutofocus: it was opened to be typed into
        autoFocus
        aria-label={t("Find in this document")}
        placeholder={t("Find")}
        value={query}
        onChange={(event) => {
          setQuery(event.target.value);
          last.current = null;
          setSaid("");
        }}
        onKeyDown={press}
      />
      <span className={viewer.said} role="status">
        {said}
      </span>
      <IconButton
        icon={ChevronUp}
        size={16}
        label={t("Previous")}
        onClick={() => void find(true)}
      />
      <IconButton icon={ChevronDown} size={16} label={t("Next")} onClick={() => void find()} />
      <IconButton icon={X} size={16} label={t("Close find")} onClick={onClose} />
    </search>
  );
}
