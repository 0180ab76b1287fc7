import { BlockView, Thinking } from "../../answer/BlockView";
import { answerText, type Block, blocksOf, claimName, withMarks } from "../../answer/parts";
import { t } from "../../i18n";
import { Notice } from "../../kit/pieces";
import type { Run } from "../../run/reduce";
import type { Session } from "../../run/session";
import type { ShownTurn } from "../../run/view";
import styles from "./Answer.module.css";
import { AnswerFoot } from "./AnswerFoot";
import { Ending } from "./Ending";
import { ToolGroup } from "./ToolGroup";

type AnswerProps = {
  turn: ShownTurn;
  session: Session;
  undone: ReadonlySet<string>;
  running: boolean;
  busy: boolean;
  last: boolean;
  found: boolean;
};

/** Marks stand in the last words of an answer. */
function isLast(block: Block, run: Run): boolean {
  return run.parts.findLast((part) => part.type === "text")?.key === block.key;
}

/** What the answer says that was done, and was not. */
function Unbacked({ claims }: { claims: Run["unbacked"] }) {
  if (!claims.length) return null;
  return (
    <Notice tone="ask">
      <strong>{t("The answer claims something that was not done")}</strong>
      {claims.map(({ text, claim }) => (
        <span key={text}>
          “{text}” {claimName(claim)}.
        </span>
      ))}
    </Notice>
  );
}

export function Answer(props: AnswerProps) {
  const { turn, session, running, busy, found } = props;
  const { run } = turn;
  const text = answerText(run);
  const shown = run.parts.length || run.recalled.length || run.end || run.failure || running;
  if (!shown) return null;
  return (
    <article
      className={`${styles.answer} ${found ? styles.found : ""}`}
      data-said="answer"
      aria-label="Bethink"
      aria-busy={running}
      tabIndex={-1}
    >
      {blocksOf(run.parts).map((block) => (
        <BlockView
          key={block.key}
          block={block}
          textOf={(said) => (isLast(said, run) ? withMarks(said.text, run) : said.text)}
          grows={running && block === run.parts.at(-1)}
          toolsOf={(tools) => <ToolGroup tools={tools} run={run.id} session={session} />}
        />
      ))}
      {running && <Thinking run={run} />}
      {!running && <Unbacked claims={run.unbacked} />}
      {!running && <Ending turn={turn} session={session} busy={busy} last={props.last} />}
      {!running && <AnswerFoot {...props} text={text} />}
    </article>
  );
}
