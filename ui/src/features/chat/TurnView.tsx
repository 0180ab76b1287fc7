import { memo } from "react";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Notice } from "../../kit/pieces";
import type { Session } from "../../run/session";
import type { ShownTurn } from "../../run/view";
import { Answer } from "./Answer";
import { QuestionView } from "./QuestionView";
import styles from "./TurnView.module.css";

type TurnProps = {
  turn: ShownTurn;
  session: Session;
  undone: ReadonlySet<string>;
  /** This turn is being answered. */
  running: boolean;
  /** Some turn is: nothing before it can be changed now. */
  busy: boolean;
  last: boolean;
  editing: boolean;
  /** The position of the message in it that somebody came for. */
  found: number | null;
};

/** One message of the owner's and all that came of it. Drawn anew only when it changed. */
export const TurnView = memo(function TurnView(props: TurnProps) {
  const { turn, session, running, busy, undone, last, editing, found } = props;
  const asked = found !== null && turn.question !== null && turn.stored?.[0]?.position === found;
  return (
    <div className={styles.turn} data-turn={turn.key}>
      <QuestionView turn={turn} session={session} busy={busy} editing={editing} found={asked} />
      {turn.unsent ? (
        <Notice tone="fault">
          <strong>{t("Your message was not sent")}</strong>
          <span>
            {turn.unsent.problem.detail || turn.unsent.problem.title} {t("Its text is kept above.")}
          </span>
          <span>
            <Button disabled={busy} onClick={() => void session.retry(turn)}>
              {t("Send again")}
            </Button>
          </span>
        </Notice>
      ) : (
        <Answer
          turn={turn}
          session={session}
          undone={undone}
          running={running}
          busy={busy}
          last={last}
          found={found !== null && !asked}
        />
      )}
    </div>
  );
});
