// What is asked while an event changes: how much of a series, and what to do about a conflict.
import { useState } from "react";
import type { Scope } from "../../api/calendar";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { Notice } from "../../kit/pieces";
import { whenWords } from "../../planner/eventWords";
import planner from "../../planner/planner.module.css";
import { shownOf } from "../../planner/shown";
import { plainDay, timeWords } from "../../services/days";
import styles from "./Calendar.module.css";
import type { Clash, EventChanges } from "./useEventChanges";

const scopes: readonly { value: Scope; label: string }[] = [
  { value: "this", label: t("This event") },
  { value: "following", label: t("This and following events") },
  { value: "all", label: t("All events") },
];

export function ChangeQuestions({ changes }: { changes: EventChanges }) {
  const { scope, clash } = changes;
  return (
    <>
      {scope.question && (
        <ScopeDialog
          title={scope.question.of.title}
          isDelete={scope.question.what === "delete"}
          offered={scopes.filter(({ value }) => scope.question?.scopes.includes(value))}
          onAnswer={scope.answer}
        />
      )}
      {clash.question && <ClashDialog clash={clash.question} onAnswer={clash.answer} />}
    </>
  );
}

function ScopeDialog(props: {
  title: string;
  isDelete: boolean;
  offered: typeof scopes;
  onAnswer: (scope: Scope | null) => void;
}) {
  const { title, isDelete, offered, onAnswer } = props;
  const [much, setMuch] = useState<Scope>(offered[0]?.value ?? "all");
  return (
    <Dialog
      title={
        isDelete
          ? t("Delete the series “{title}”", { title })
          : t("Change the series “{title}”", { title })
      }
      onClose={() => onAnswer(null)}
    >
      <form
        className="body"
        onSubmit={(event) => {
          event.preventDefault();
          onAnswer(much);
        }}
      >
        <fieldset className="choices" aria-label={t("How much of it")}>
          {offered.map(({ value, label }, i) => (
            <label key={value}>
              <input
                type="radio"
                name="scope"
                data-first={i === 0 || undefined}
                checked={much === value}
                onChange={() => setMuch(value)}
              />
              {label}
            </label>
          ))}
        </fieldset>
        <div className="actions">
          <Button onClick={() => onAnswer(null)}>{t("Cancel")}</Button>
          <Button look={isDelete ? "fault" : "primary"} type="submit">
            {isDelete ? t("Delete") : t("Change")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

type ClashProps = {
  clash: Clash;
  onAnswer: EventChanges["clash"]["answer"];
};

function ClashDialog({ clash, onAnswer }: ClashProps) {
  const { title, conflicts, free } = clash;
  return (
    <Dialog title={t("This time is taken")} onClose={() => onAnswer(null)}>
      <div className="body">
        <Notice tone="ask">
          <p>{t("“{title}” overlaps:", { title })}</p>
          <ul className={planner.plainList}>
            {conflicts.map((each) => (
              <li key={each.id}>
                <strong>{each.title}</strong>, {whenWords(shownOf(each))}
              </li>
            ))}
          </ul>
        </Notice>
        {free.length > 0 && (
          <div className={styles.freeTimes}>
            <p>{t("Free instead:")}</p>
            {free.slice(0, 5).map((time) => {
              const begin = new Date(time.start);
              return (
                <Button key={time.start} onClick={() => onAnswer({ begin })}>
                  {plainDay(begin)}, {timeWords(begin)}
                </Button>
              );
            })}
          </div>
        )}
        <div className="actions">
          <Button data-first onClick={() => onAnswer(null)}>
            {t("Cancel")}
          </Button>
          <Button onClick={() => onAnswer({ begin: null })}>{t("Keep both")}</Button>
        </div>
      </div>
    </Dialog>
  );
}
