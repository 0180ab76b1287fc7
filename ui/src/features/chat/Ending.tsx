import { Button } from "../../kit/Button";
import { Notice } from "../../kit/pieces";
import type { Run } from "../../run/reduce";
import type { Question } from "../../run/restore";
import type { Session } from "../../run/session";
import { ends } from "../../services/words";
import { NoModel } from "./NoModel";

/** Why an answer ended, where it did not simply end. */
export function Ending({
  run,
  question,
  session,
}: {
  run: Run;
  question: Question | null;
  session: Session;
}) {
  const again = question && (
    <span>
      <Button onClick={() => void session.again(question)}>Ask again</Button>
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
