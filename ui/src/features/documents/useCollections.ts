import { type Collection, documentsApi, type LibraryStatus } from "../../api/documents";
import { useApp } from "../../services/context";
import { useNews } from "../../services/news";
import { useRead } from "../../services/useRead";
import { useAgain } from "../../services/useReturn";

const LOOK_MS = 2000;
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
  useAgain(isBusy, LOOK_MS, look);
  return { collections: value?.collections ?? [], status, problem, read };
}
