import { Copy, CornerDownRight, RefreshCw } from "lucide-react";
import { useCopy } from "../../answer/useCopy";
import { t } from "../../i18n";
import { IconButton } from "../../kit/Button";
import { messageOf } from "../../run/past";
import { tookMs } from "../../run/reduce";
import { endingOf } from "../../run/sent";
import type { Session } from "../../run/session";
import type { ShownTurn } from "../../run/view";
import { useApp } from "../../services/context";
import { duration, fullDate } from "../../services/words";
import styles from "./Answer.module.css";
import { BranchSwitch } from "./BranchSwitch";
import { ChangedChip, UsedChip } from "./MemoryChips";
import { ReadAloud } from "./ReadAloud";

type FootProps = {
  turn: ShownTurn;
  session: Session;
  undone: ReadonlySet<string>;
  busy: boolean;
  last: boolean;
  /** Its words, to be copied. */
  text: string;
};

/** What stands below an answer: its versions, its memories, and what can be done with it. */
export function AnswerFoot({ turn, session, undone, busy, last, text }: FootProps) {
  const { keys } = useApp();
  const copy = useCopy();
  const { run, answers } = turn;
  const took = tookMs(run);
  return (
    <footer className={`${styles.foot} ${last ? styles.last : ""} print-hidden`}>
      {answers && <BranchSwitch of="answer" siblings={answers} session={session} busy={busy} />}
      <UsedChip run={run} />
      <ChangedChip changes={run.changed} undone={undone} session={session} />
      <span className={styles.acts}>
        {took !== null && run.endedAt && (
          <span className={styles.took} title={fullDate(run.endedAt)}>
            {duration(took)}
          </span>
        )}
        {!last && endingOf(turn) && (
          <IconButton
            icon={CornerDownRight}
            size={15}
            label={t("Continue from here")}
            disabled={busy}
            onClick={() => {
              session.goOn(turn);
              keys.run("focus-composer");
            }}
          />
        )}
        {messageOf(turn) && (
          <IconButton
            icon={RefreshCw}
            size={15}
            label={t("Regenerate answer")}
            disabled={busy}
            onClick={() => {
              void session.regenerate(turn);
              if (matchMedia("(pointer: fine)").matches) keys.run("focus-composer");
            }}
          />
        )}
        {text && <ReadAloud of={turn.key} text={text} />}
        {text && (
          <IconButton
            icon={Copy}
            size={15}
            label={t("Copy answer")}
            onClick={() => copy(text, t("Answer copied"))}
          />
        )}
      </span>
    </footer>
  );
}
