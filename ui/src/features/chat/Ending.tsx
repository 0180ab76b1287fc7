import { StepForward } from "lucide-react";
import { NoModel } from "../../answer/NoModel";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Notice } from "../../kit/pieces";
import { messageOf } from "../../run/past";
import type { Session } from "../../run/session";
import type { ShownTurn } from "../../run/view";
import { endOf } from "../../services/words";
import styles from "./Ending.module.css";

/** Ends after which the same answer can go on. */
const GOES_ON: ReadonlySet<string> = new Set([
  "cancelled",
  "interrupted",
  "length",
  "max_tokens",
  "max_steps",
]);

/** Why an answer ended, where it did not simply end. */
export function Ending({
  turn,
  session,
  busy,
  last,
}: {
  turn: ShownTurn;
  session: Session;
  busy: boolean;
  last: boolean;
}) {
  const { run } = turn;
  const again = messageOf(turn) && (
    <Button disabled={busy} onClick={() => void session.regenerate(turn)}>
      {t("Ask again")}
    </Button>
  );
  if (run.failure?.code === "no_model") return <NoModel message={run.failure.message} />;
  if (run.failure) {
    return (
      <Notice tone="fault">
        <strong>{t("The answer could not be finished")}</strong>
        <span>{run.failure.message}</span>
        <span className={styles.deeds}>{again}</span>
      </Notice>
    );
  }
  const words = run.end && endOf(run.end);
  if (!words) return null;
  const tone = run.end === "failed" ? "fault" : run.end === "cancelled" ? "plain" : "ask";
  return (
    <Notice tone={tone}>
      <span>{words}</span>
      <span className={styles.deeds}>
        {last && GOES_ON.has(run.end ?? "") && (
          <Button
            icon={StepForward}
            disabled={busy}
            onClick={() => void session.resume(t("Continue where you stopped."))}
          >
            {t("Continue")}
          </Button>
        )}
        {run.end !== "cancelled" && again}
      </span>
    </Notice>
  );
}
