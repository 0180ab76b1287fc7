// What speaks against a memory, with the way to it, and the choice of which of the two is kept.
import { TriangleAlert } from "lucide-react";
import { useEffect, useState } from "react";
import { memoryApi } from "../../api/memory";
import type { Memory } from "../../api/types";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Link } from "../../kit/pieces";
import styles from "./memory.module.css";
import type { MemoryActions } from "./useMemoryActions";
import { doubtName } from "./words";

/** Memories by their ids, those that are there. */
export function useMemoriesOf(ids: readonly string[]): ReadonlyMap<string, Memory> {
  const [known, setKnown] = useState<ReadonlyMap<string, Memory>>(new Map());
  const key = ids.join(" ");
  useEffect(() => {
    const abort = new AbortController();
    const wanted = key.split(" ").filter(Boolean);
    void Promise.allSettled(wanted.map((id) => memoryApi.get(id, abort.signal))).then((found) => {
      if (abort.signal.aborted) return;
      const there = found.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
      setKnown(new Map(there.map((memory) => [memory.id, memory])));
    });
    return () => abort.abort();
  }, [key]);
  return known;
}

export function Doubts({ memory, actions }: { memory: Memory; actions: MemoryActions }) {
  const others = useMemoriesOf(memory.doubts.flatMap(({ memory: id }) => id ?? []));
  if (!memory.doubts.length) return null;
  const against = memory.doubts.flatMap(({ kind, memory: id }) =>
    kind === "contradicts" && id ? [id] : [],
  );
  return (
    <section className={styles.doubts} aria-label={t("What speaks against it")}>
      <ul>
        {memory.doubts.map(({ kind, memory: id }) => (
          <li key={`${kind} ${id}`}>
            <TriangleAlert size={16} aria-hidden />
            <div>
              {id ? (
                <Link to={`/memory/${encodeURIComponent(id)}`}>{doubtName(kind)}</Link>
              ) : (
                doubtName(kind)
              )}
              {id && others.get(id) && <p>{others.get(id)?.content}</p>}
              {kind === "contradicts" && id && (
                <Button onClick={() => void actions.keep([memory.id])}>{t("Keep that one")}</Button>
              )}
            </div>
          </li>
        ))}
      </ul>
      {against.length > 0 && (
        <Button look="primary" onClick={() => void actions.keep(against)}>
          {t("Keep this one")}
        </Button>
      )}
    </section>
  );
}
