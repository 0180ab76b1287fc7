import { useEffect, useRef } from "react";
import { type Collection, documentsApi, type LibraryStatus } from "../../api/documents";
import { useApp } from "../../services/context";
import { useNews } from "../../services/news";
import { useRead } from "../../services/useRead";
import { useAgain } from "../../services/useReturn";

const BUSY_MS = 2000;
/** Files of watched folders come and go without anybody here. */
const QUIET_MS = 10_000;
type Known = { collections: readonly Collection[]; status: LibraryStatus };

const ask = async (signal: AbortSignal): Promise<Known> => {
  const [{ items }, status] = await Promise.all([
    documentsApi.collections(signal),
    documentsApi.status(signal),
  ]);
  return { collections: items, status };
};

/** The collections, and how the library is. While something is being read it looks again. */
export function useCollections() {
  const { documentNews } = useApp();
  const { value, problem, read, look } = useRead(ask);
  useNews(documentNews, look);
  const status = value?.status ?? null;
  const isBusy = status !== null && status.waiting + status.reading + status.indexing > 0;
  useAgain(true, isBusy ? BUSY_MS : QUIET_MS, look);
  // What another program, or another page, did to the library is shown in all of the room.
  const seen = useRef<string>(undefined);
  const now = status && `${status.ready} ${status.waiting} ${status.failed} ${status.bytes}`;
  useEffect(() => {
    if (seen.current && now && seen.current !== now) void documentNews.tell();
    seen.current = now ?? seen.current;
  }, [now, documentNews]);
  return { collections: value?.collections ?? [], status, problem, read };
}
