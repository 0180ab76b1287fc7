import { Brain, NotebookPen, Undo2 } from "lucide-react";
import { citedFirst } from "../../answer/parts";
import { t } from "../../i18n";
import { Popover } from "../../kit/Popover";
import type { Change, Run } from "../../run/reduce";
import type { Session } from "../../run/session";
import styles from "./MemoryChips.module.css";
import { ChangeLine, RecalledLine } from "./MemoryLines";
import lines from "./MemoryLines.module.css";
import { useUndo } from "./useUndo";

/** What the model was given from memory, with what it named as its ground first. */
export function UsedChip({ run }: { run: Run }) {
  const { recalled } = run;
  if (!recalled.length) return null;
  return (
    <Popover
      label={t("Memories this answer used")}
      face={
        <>
          <Brain size={14} aria-hidden />
          {recalled.every(({ kind }) => kind === "passage")
            ? t("{count, plural, one {Used # passage} other {Used # passages}}", {
                count: recalled.length,
              })
            : t("{count, plural, one {Used # memory} other {Used # memories}}", {
                count: recalled.length,
              })}
        </>
      }
    >
      {() => (
        <ul className={lines.lines}>
          {citedFirst(run).map(({ item, number }) => (
            <RecalledLine key={`${item.kind} ${item.id}`} item={item} number={number} />
          ))}
        </ul>
      )}
    </Popover>
  );
}

type ChangedProps = { changes: readonly Change[]; undone: ReadonlySet<string>; session: Session };

export function ChangedChip({ changes, undone, session }: ChangedProps) {
  const undo = useUndo(session);
  const [only] = changes;
  if (!only) return null;
  const token = changes.length === 1 ? only.undo : null;
  const isUndone = Boolean(token && undone.has(token));
  return (
    <span className={styles.pair}>
      <Popover
        label={t("What changed in memory")}
        face={
          <>
            <NotebookPen size={14} aria-hidden />
            {isUndone ? t("Changes to memory undone") : t("Memory updated")}
          </>
        }
      >
        {() => (
          <ul className={lines.lines}>
            {changes.map((change, i) => (
              <ChangeLine
                // biome-ignore lint/suspicious/noArrayIndexKey: changes are only added, maybe of one memory
                key={i}
                change={change}
                undone={undone}
                session={session}
              />
            ))}
          </ul>
        )}
      </Popover>
      {token && !isUndone && (
        <button type="button" className="chip" onClick={() => void undo(token)}>
          <Undo2 size={14} aria-hidden />
          {t("Undo")}
        </button>
      )}
    </span>
  );
}
