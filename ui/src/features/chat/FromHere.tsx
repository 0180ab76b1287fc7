import { CornerDownRight, X } from "lucide-react";
import { answerText } from "../../answer/parts";
import { t } from "../../i18n";
import { IconButton } from "../../kit/Button";
import type { Session } from "../../run/session";
import type { SessionView } from "../../run/view";
import styles from "./FromHere.module.css";

/** Says that the next message stands behind an earlier answer, and takes that back. */
export function FromHere({ session, view }: { session: Session; view: SessionView }) {
  const turn = view.turns.find(({ key }) => key === view.from);
  if (!turn) return null;
  const words = answerText(turn.run) || turn.question?.content || "";
  return (
    <p className={styles.here} role="status">
      <CornerDownRight size={16} aria-hidden />
      <span className="clip">
        {t("Your next message continues from “{words}”", { words: words.slice(0, 120) })}
      </span>
      <small>{t("The messages after it are kept as another version.")}</small>
      <IconButton
        icon={X}
        size={14}
        label={t("Continue at the end instead")}
        onClick={() => session.goOn(null)}
      />
    </p>
  );
}
