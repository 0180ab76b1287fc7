import { CircleHelp } from "lucide-react";
import { useId, useState } from "react";
import type { Decision } from "../../api/types";
import { Button } from "../../kit/Button";
import type { ToolPart } from "../../run/reduce";
import type { Session } from "../../run/session";
import { useApp } from "../../services/context";
import { entriesOf, pretty } from "./parts";
import { Arguments } from "./ToolLine";

/** A call that waits: what it would do, exactly, and the decision. It ends as a line with a receipt. */
export function Approval({
  tool,
  run,
  session,
}: {
  tool: ToolPart;
  run: string;
  session: Session;
}) {
  const { toasts } = useApp();
  const heading = useId();
  const [draft, setDraft] = useState<string | null>(null);
  const [wrong, setWrong] = useState<string | null>(null);
  const decide = (decision: Decision) =>
    session.decide(run, tool.call, decision).catch(toasts.fault);
  const saveEdit = () => {
    try {
      void decide({ decision: "edit", arguments: JSON.parse(draft ?? "") });
    } catch (error) {
      setWrong(`This is not JSON yet: ${error instanceof Error ? error.message : error}`);
    }
  };
  return (
    <section className="approval" aria-labelledby={heading}>
      <h2 id={heading}>
        <CircleHelp size={16} aria-hidden />
        {tool.label}
      </h2>
      {tool.reason && <p>{tool.reason}</p>}
      {draft === null ? (
        <Arguments text={tool.arguments} />
      ) : (
        <label className="field">
          The call’s arguments, as JSON
          <textarea
            className="input mono"
            rows={Math.min(12, draft.split("\n").length + 1)}
            value={draft}
            aria-invalid={wrong !== null}
            onChange={(event) => setDraft(event.target.value)}
          />
          {wrong && <span role="alert">{wrong}</span>}
        </label>
      )}
      <div className="actions">
        {draft === null ? (
          <>
            <Button onClick={() => void decide({ decision: "reject" })}>Reject</Button>
            {entriesOf(tool.arguments)?.length !== 0 && (
              <Button onClick={() => setDraft(pretty(tool.arguments))}>Edit</Button>
            )}
            <Button look="primary" onClick={() => void decide({ decision: "approve" })}>
              Approve
            </Button>
          </>
        ) : (
          <>
            <Button onClick={() => setDraft(null)}>Back</Button>
            <Button look="primary" onClick={saveEdit}>
              Approve with changes
            </Button>
          </>
        )}
      </div>
    </section>
  );
}
