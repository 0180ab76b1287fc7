// Memories that say different things, as pairs: one of the two is kept.
import { useCallback } from "react";
import { memoryApi } from "../../api/memory";
import type { Memory } from "../../api/types";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Link, ProblemNotice } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { useNews } from "../../services/news";
import { useRead } from "../../services/useRead";
import styles from "./memory.module.css";
import { useMemoryActions } from "./useMemoryActions";

/** Each two that contradict each other, once. */
export function pairsOf(memories: readonly Memory[]): [Memory, Memory][] {
  const known = new Map(memories.map((memory) => [memory.id, memory]));
  return memories.flatMap((memory) =>
    memory.doubts.flatMap(({ kind, memory: id }): [Memory, Memory][] => {
      const other = kind === "contradicts" && id ? known.get(id) : undefined;
      return other && memory.id < other.id ? [[memory, other]] : [];
    }),
  );
}

export function Contradictions() {
  const { memoryNews } = useApp();
  const ask = useCallback(
    (signal: AbortSignal) => memoryApi.list({ doubted: true, limit: 200 }, signal),
    [],
  );
  const { value, problem, look } = useRead(ask);
  useNews(memoryNews, look);
  const actions = useMemoryActions();
  if (problem) return <ProblemNotice problem={problem} />;
  return (
    <ul className={styles.pairs}>
      {pairsOf(value?.items ?? []).map(([one, other]) => (
        <li key={`${one.id} ${other.id}`}>
          {[
            { memory: one, against: other },
            { memory: other, against: one },
          ].map(({ memory, against }) => (
            <div key={memory.id}>
              <Link to={`/memory/${encodeURIComponent(memory.id)}`}>{memory.content}</Link>
              <Button
                aria-label={t("Keep this one: {content}", { content: memory.content })}
                onClick={() => void actions.keep([against.id])}
              >
                {t("Keep this one")}
              </Button>
            </div>
          ))}
        </li>
      ))}
    </ul>
  );
}
