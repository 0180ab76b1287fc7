// Memories that say the same: merged all at once where that is certain, pair by pair where a person decides.
import { ArrowUpDown } from "lucide-react";
import { useCallback, useEffect, useState } from "react";
import { api, asProblem, type Problem } from "../../api/client";
import { type LikelyDuplicate, memoryApi } from "../../api/memory";
import type { MemoryMerge } from "../../api/types";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { Link, ProblemNotice, Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { useNews } from "../../services/news";
import { useRead } from "../../services/useRead";
import styles from "./memory.module.css";
import { useMemoryActions } from "./useMemoryActions";

const SHOWN = 10;

export function LikelyDuplicates() {
  const { memoryNews } = useApp();
  const ask = useCallback((signal: AbortSignal) => memoryApi.duplicates(signal), []);
  const { value, problem, look } = useRead(ask);
  useNews(memoryNews, look);
  const [merging, setMerging] = useState<LikelyDuplicate | null>(null);
  if (problem) return <ProblemNotice problem={problem} />;
  return (
    <>
      <ul className={styles.pairs}>
        {(value?.items ?? []).slice(0, SHOWN).map((pair) => (
          <li key={`${pair.kept.id} ${pair.gone.id}`}>
            {[pair.kept, pair.gone].map(({ id, content }) => (
              <div key={id}>
                <Link to={`/memory/${encodeURIComponent(id)}`}>{content}</Link>
              </div>
            ))}
            <Button onClick={() => setMerging(pair)}>{t("Merge")}</Button>
          </li>
        ))}
      </ul>
      {merging && <MergeTwo pair={merging} onClose={() => setMerging(null)} />}
    </>
  );
}

/** What merging two would do: which of them stays is chosen here. */
function MergeTwo({ pair, onClose }: { pair: LikelyDuplicate; onClose: () => void }) {
  const actions = useMemoryActions();
  const [turned, setTurned] = useState(false);
  const [kept, gone] = turned ? [pair.gone, pair.kept] : [pair.kept, pair.gone];
  return (
    <Dialog title={t("Merge two memories")} onClose={onClose}>
      <div className="body">
        <p>{t("This one stays, with the sources and topics of both:")}</p>
        <blockquote>{kept.content}</blockquote>
        <p>{t("This one goes into it:")}</p>
        <blockquote>{gone.content}</blockquote>
        <Button icon={ArrowUpDown} look="quiet" onClick={() => setTurned(!turned)}>
          {t("The other way round")}
        </Button>
        <div className="actions">
          <Button data-first onClick={onClose}>
            {t("Cancel")}
          </Button>
          <Button
            look="primary"
            onClick={() => {
              onClose();
              void actions.merge(kept.id, [gone.id]);
            }}
          >
            {t("Merge")}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

/** What merging certain duplicates would do, before it is done. */
export function Merging({ onClose }: { onClose: () => void }) {
  const actions = useMemoryActions();
  const [merges, setMerges] = useState<readonly MemoryMerge[] | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  useEffect(() => {
    api.consolidate(true).then(
      (found) => setMerges(found.merges),
      (error) => setProblem(asProblem(error)),
    );
  }, []);
  return (
    <Dialog title={t("Merge duplicates")} onClose={onClose}>
      <div className="body">
        {problem && <ProblemNotice problem={problem} />}
        {!merges && !problem && <Skeleton lines={3} label={t("Comparing")} />}
        {merges?.length === 0 && <p>{t("Nothing would be merged.")}</p>}
        {merges && merges.length > 0 && (
          <ul className={styles.wouldGo}>
            {merges.map(({ kept, gone }) => (
              <li key={kept.id}>
                {kept.content}
                <ul>
                  {gone.map(({ id, content }) => (
                    <li key={id}>{t("replaces: {content}", { content })}</li>
                  ))}
                </ul>
              </li>
            ))}
          </ul>
        )}
        <div className="actions">
          <Button data-first onClick={onClose}>
            {t("Cancel")}
          </Button>
          <Button
            look="primary"
            disabled={!merges?.length}
            onClick={() => {
              onClose();
              void actions.consolidate();
            }}
          >
            {t("Merge")}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
