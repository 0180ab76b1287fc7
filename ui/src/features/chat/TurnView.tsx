import { Copy, Undo2 } from "lucide-react";
import { memo } from "react";
import { Button, IconButton } from "../../kit/Button";
import { Notice } from "../../kit/pieces";
import type { Session, ShownTurn } from "../../run/session";
import { fullDate, shortDate } from "../../services/words";
import { Answer } from "./Answer";
import { AttachmentList } from "./AttachmentList";
import { useCopy } from "./useCopy";

type TurnProps = {
  turn: ShownTurn;
  session: Session;
  undone: ReadonlySet<string>;
  running: boolean;
  last: boolean;
  onPutBack: (text: string) => void;
};

function QuestionView({
  turn,
  session,
  onPutBack,
}: Pick<TurnProps, "turn" | "session" | "onPutBack">) {
  const copy = useCopy();
  const { question } = turn;
  if (!question) return null;
  return (
    <article className="question" aria-label="You">
      <AttachmentList files={question.attachments} session={session} label="Your files" />
      <p>{question.content}</p>
      <footer>
        {question.at && (
          <time dateTime={new Date(question.at).toISOString()} title={fullDate(question.at)}>
            {shortDate(question.at)}
          </time>
        )}
        <IconButton
          icon={Copy}
          size={15}
          label="Copy your message"
          onClick={() => copy(question.content, "Message copied")}
        />
        <IconButton
          icon={Undo2}
          size={15}
          label="Put it back to edit"
          onClick={() => onPutBack(question.content)}
        />
      </footer>
    </article>
  );
}

/** One message of the owner's and all that came of it. Drawn anew only when it changed. */
export const TurnView = memo(function TurnView(props: TurnProps) {
  const { turn, session, running, undone, last } = props;
  return (
    <div className="turn">
      <QuestionView turn={turn} session={session} onPutBack={props.onPutBack} />
      {turn.unsent ? (
        <Notice tone="fault">
          <strong>Your message was not sent</strong>
          <span>{turn.unsent.problem.detail || turn.unsent.problem.title} It is kept above.</span>
          <span>
            <Button onClick={() => void session.retry()}>Send again</Button>
          </span>
        </Notice>
      ) : (
        <Answer
          run={turn.run}
          question={turn.question}
          session={session}
          undone={undone}
          running={running}
          last={last}
        />
      )}
    </div>
  );
}, same);

function same(a: TurnProps, b: TurnProps): boolean {
  return a.turn === b.turn && a.running === b.running && a.undone === b.undone && a.last === b.last;
}
