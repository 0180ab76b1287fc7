import { diffLines } from "diff";
import { useCallback } from "react";
import { artifactsApi } from "../../api/artifacts";
import { t } from "../../i18n";
import { ProblemNotice, Skeleton } from "../../kit/pieces";
import { useRead } from "../../services/useRead";
import css from "./artifacts.module.css";

type ChangesProps = { id: string; number: number; text: string };
const looks = { added: css.added, removed: css.removed, same: "" };

/** What a version has that the one before it has not, and the other way round. */
export function ArtifactChanges({ id, number, text }: ChangesProps) {
  const ask = useCallback(
    (signal: AbortSignal) => artifactsApi.get(id, number - 1, signal),
    [id, number],
  );
  const { value, problem, read } = useRead(ask);
  if (problem) return <ProblemNotice problem={problem} onRetry={() => void read()} />;
  if (!value) return <Skeleton lines={5} label={t("Loading the version before")} />;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: long changes are scrolled with the keyboard
    <pre className={css.changes} tabIndex={0}>
      {diffLines(value.content, text).map((part, i) => {
        const kind = part.added ? "added" : part.removed ? "removed" : "same";
        const said = { added: t("Added"), removed: t("Removed"), same: "" }[kind];
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts never change their places
          <span key={i} className={looks[kind]}>
            {said && <span className="visually-hidden">{said}: </span>}
            {part.value}
          </span>
        );
      })}
    </pre>
  );
}
