import { NoModel } from "../../answer/NoModel";
import { Button } from "../../kit/Button";
import { Notice } from "../../kit/pieces";
import { messageOf } from "../../run/past";
import type { Session } from "../../run/session";
import type { ShownTurn } from "../../run/view";
import { ends } from "../../services/words";

/** Why an answer ended, where it did not simply end. */
export function Ending({
  turn,
  session,
  busy,
}: {
  turn: ShownTurn;
  session: Session;
  busy: boolean;
}) {
  const { run } = turn;
  const again = messageOf(turn) && (
    <span>
      <Button disabled={busy} onClick={() => void session.regenerate(turn)}>
        Ask again
      </Button>
    </span>
  );
  if (run.failure?.code === "no_model") return <NoModel message={run.failure.message} />;
  if (run.failure) {
    return (
      <Notice tone="fault">
        <strong>The answer could not be finished</strong>
        <span>{run.failure.message}</span>
        {again}
      </Notice>
    );
  }
  const words = run.end && ends[run.end];
  if (!words) return null;
  const tone = run.end === "failed" ? "fault" : run.end === "cancelled" ? "plain" : "ask";
  return (
    <Notice tone={tone}>
      <span>{words}</span>
      {run.end !== "cancelled" && again}
    </Notice>
  );
}
