import { ArtifactCard } from "../../answer/ArtifactCard";
import { ToolLine } from "../../answer/ToolLine";
import lines from "../../answer/ToolLine.module.css";
import { t } from "../../i18n";
import type { ToolPart } from "../../run/reduce";
import type { Session } from "../../run/session";
import { Approval } from "./Approval";
import { AttachmentList } from "./AttachmentList";
import { CallQuestion } from "./CallQuestion";

/** The calls of one step, in their order: a quiet line each, a card where one asks for a decision. */
export function ToolGroup(props: {
  tools: readonly ToolPart[];
  run: string | null;
  session: Session;
}) {
  const { tools, run, session } = props;
  const { running, turns } = session.store.get();
  const isLive = running && turns.at(-1)?.run.id === run;
  return (
    <ul className={lines.tools} aria-label={t("Tool calls")}>
      {tools.map((tool) => (
        <li key={tool.key} data-call={tool.call}>
          {tool.state === "waiting" && run ? (
            <Approval tool={tool} run={run} session={session} />
          ) : (
            <ToolLine tool={tool} />
          )}
          {run &&
            tool.questions.map((asked) => (
              <CallQuestion key={asked.question} asked={asked} run={run} />
            ))}
          <ArtifactCard tool={tool} isLive={isLive} />
          <AttachmentList
            of="tool"
            files={tool.attachments}
            session={session}
            label={t("Files from: {tool}", { tool: tool.label })}
          />
        </li>
      ))}
    </ul>
  );
}
