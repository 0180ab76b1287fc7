// What a page was: every change with who made it, what it did, and the way back to it.
import { RotateCcw } from "lucide-react";
import { useCallback, useState } from "react";
import type { VaultVersion } from "../../api/types";
import { vaultApi } from "../../api/vault";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { ProblemNotice, Skeleton } from "../../kit/pieces";
import { useRead } from "../../services/useRead";
import { bytes, fullDate, shortDate } from "../../services/words";
import { Diff } from "./Diff";
import { linesOf } from "./diffLines";
import styles from "./Side.module.css";

const who = (): Record<VaultVersion["by"], string> => ({
  person: t("by you"),
  agent: t("by the agent"),
  outside: t("in another program"),
  import: t("imported"),
  mirror: t("from memory"),
});
const did = (): Record<VaultVersion["what"], string> => ({
  created: t("Created"),
  written: t("Changed"),
  moved: t("Moved"),
  deleted: t("Deleted"),
  vouched: t("Confirmed"),
});

type HistoryProps = {
  path: string;
  /** Another value whenever a page changed. */
  news: unknown;
  onRestore: (version: VaultVersion) => void;
};

export function History({ path, news, onRestore }: HistoryProps) {
  const ask = useCallback((signal: AbortSignal) => vaultApi.history(path, signal), [path]);
  const { value, problem, read } = useRead(ask, news);
  const items = value?.items;
  const [shown, setShown] = useState<string | null>(null);
  if (problem) return <ProblemNotice problem={problem} onRetry={() => void read()} />;
  if (!items) return <Skeleton lines={4} label={t("Loading the history")} />;
  return (
    <ol className={styles.history}>
      {items.map((item, i) => (
        <li key={item.id}>
          <button
            type="button"
            className={styles.version}
            aria-expanded={shown === item.id}
            onClick={() => setShown(shown === item.id ? null : item.id)}
          >
            <strong>
              {did()[item.what]} {who()[item.by]}
            </strong>
            <span>
              <time dateTime={item.at} title={fullDate(Date.parse(item.at))}>
                {shortDate(Date.parse(item.at))}
              </time>
              {item.what !== "deleted" && ` · ${bytes(item.size)}`}
              {item.moved_from && ` · ${t("from {path}", { path: item.moved_from })}`}
              {i === 0 && ` · ${t("now")}`}
            </span>
            {item.note && <span>{item.note}</span>}
          </button>
          {shown === item.id && (
            <Version
              path={path}
              item={item}
              onRestore={i > 0 && item.what !== "deleted" ? () => onRestore(item) : null}
            />
          )}
        </li>
      ))}
    </ol>
  );
}

type VersionProps = { path: string; item: VaultVersion; onRestore: (() => void) | null };

function Version({ path, item, onRestore }: VersionProps) {
  const ask = useCallback(
    async (signal: AbortSignal) => linesOf((await vaultApi.diff(path, item.id, signal)).diff),
    [path, item.id],
  );
  const { value: lines, problem, read } = useRead(ask);
  return (
    <div className={styles.inside}>
      {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
      {lines && (
        <Diff
          lines={lines}
          label={t("What changed {date}", { date: shortDate(Date.parse(item.at)) })}
        />
      )}
      {onRestore && (
        <Button icon={RotateCcw} onClick={onRestore}>
          {t("Restore this version")}
        </Button>
      )}
    </div>
  );
}
