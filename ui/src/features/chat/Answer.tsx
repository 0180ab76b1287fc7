import { Copy, RefreshCw, TriangleAlert } from "lucide-react";
import { IconButton } from "../../kit/Button";
import { Notice } from "../../kit/pieces";
import { messageOf } from "../../run/past";
import type { Run } from "../../run/reduce";
import type { Session } from "../../run/session";
import type { ShownTurn } from "../../run/view";
import { duration, fullDate } from "../../services/words";
import { BranchSwitch } from "./BranchSwitch";
import { Ending } from "./Ending";
import { LazyMarkdown } from "./LazyMarkdown";
import { ChangedChip, UsedChip } from "./MemoryChips";
import { answerText, type Block, blocksOf, claimName, withMarks } from "./parts";
import { ToolGroup } from "./ToolGroup";
import { useCopy } from "./useCopy";

type AnswerProps = {
  turn: ShownTurn;
  session: Session;
  undone: ReadonlySet<string>;
  running: boolean;
  busy: boolean;
  last: boolean;
  found: boolean;
};

function BlockView({ block, run, session }: { block: Block; run: Run; session: Session }) {
  switch (block.type) {
    case "text":
      return <LazyMarkdown text={isLast(block, run) ? withMarks(block.text, run) : block.text} />;
    case "reasoning":
      return (
        <details className="reasoning">
          <summary>Reasoning</summary>
          <p>{block.text}</p>
        </details>
      );
    case "tools":
      return <ToolGroup tools={block.tools} run={run.id} session={session} />;
    case "warning":
      return (
        <p className="aside">
          <TriangleAlert size={15} aria-hidden />
          {block.message}
        </p>
      );
    case "unknown":
      return (
        <details className="reasoning">
          <summary>Something this page does not know yet</summary>
          <pre>{JSON.stringify(block.event, null, 2)}</pre>
        </details>
      );
  }
}

/** Marks stand in the last words of an answer. */
function isLast(block: Block, run: Run): boolean {
  return run.parts.findLast((part) => part.type === "text")?.key === block.key;
}

/** What the answer says that was done, and was not. */
function Unbacked({ claims }: { claims: Run["unbacked"] }) {
  if (!claims.length) return null;
  return (
    <Notice tone="ask">
      <strong>The answer claims what was not done</strong>
      {claims.map(({ text, claim }) => (
        <span key={text}>
          “{text}” {claimName(claim)}.
        </span>
      ))}
    </Notice>
  );
}

/** True while nothing of what is shown moves by itself. */
function isThinking(run: Run): boolean {
  const last = run.parts.at(-1);
  return !last || (last.type === "tool" && last.state !== "running") || last.type === "warning";
}

export function Answer(props: AnswerProps) {
  const { turn, session, undone, running, busy, last, found } = props;
  const copy = useCopy();
  const { run, question, answers } = turn;
  const text = answerText(run);
  const took = run.startedAt && run.endedAt ? run.endedAt - run.startedAt : null;
  const shown = run.parts.length || run.recalled.length || run.end || run.failure || running;
  if (!shown) return null;
  return (
    <article
      className={`answer ${found ? "found" : ""}`}
      aria-label="Bethink"
      aria-busy={running}
      tabIndex={-1}
    >
      {blocksOf(run.parts).map((block) => (
        <BlockView key={block.key} block={block} run={run} session={session} />
      ))}
      {running && isThinking(run) && (
        <p className="thinking">
          <i />
          {run.parts.length ? "Going on" : "Thinking"}
        </p>
      )}
      {!running && <Unbacked claims={run.unbacked} />}
      {!running && <Ending run={run} question={question} session={session} />}
      {!running && (
        <footer className={last ? "last" : ""}>
          {answers && <BranchSwitch of="answer" siblings={answers} session={session} busy={busy} />}
          <UsedChip run={run} />
          <ChangedChip changes={run.changed} undone={undone} session={session} />
          <span className="gap" />
          {took !== null && run.endedAt && (
            <span className="took" title={fullDate(run.endedAt)}>
              {duration(took)}
            </span>
          )}
          {messageOf(turn) && (
            <IconButton
              icon={RefreshCw}
              size={15}
              label="Answer again"
              disabled={busy}
              onClick={() => void session.regenerate(turn)}
            />
          )}
          {text && (
            <IconButton
              icon={Copy}
              size={15}
              label="Copy the answer"
              onClick={() => copy(text, "Answer copied")}
            />
          )}
        </footer>
      )}
    </article>
  );
}
