import { useState } from "react";
import type { Task, TaskPatch } from "../../api/tasks";
import { t } from "../../i18n";
import { SelectField } from "../../kit/Select";
import { choicesFor, type Plain, repeatOf, ruleOf } from "../../planner/repeats";
import { dueDay } from "../../planner/taskWords";
import { dayOf } from "../../services/days";
import { recurrenceWords } from "../../services/recurrence";
import { SavedField } from "./SavedField";
import styles from "./Tasks.module.css";

type Choice = Plain | "kept" | "own";

/** How a task repeats: plain choices, the rule that it has, or another in words. */
export function RepeatField({
  task,
  onSave,
}: {
  task: Task;
  onSave: (patch: TaskPatch) => Promise<boolean>;
}) {
  const [isOwn, setOwn] = useState(false);
  const day = dueDay(task) ?? dayOf(new Date());
  const repeat = repeatOf(task.recurrence, day);
  const isPlain = repeat.every !== "own" && repeat.ends === "never";
  const value: Choice = isOwn ? "own" : isPlain ? (repeat.every as Plain) : "kept";
  const words = recurrenceWords(task.recurrence, task.recurrence_words);
  const kept = { value: "kept" as const, label: words.charAt(0).toUpperCase() + words.slice(1) };
  const choose = (choice: Choice) => {
    setOwn(choice === "own");
    if (choice === "own" || choice === "kept") return;
    const rule = ruleOf({ ...repeatOf(null, day), every: choice }, day);
    void onSave({ recurrence: rule || null });
  };
  return (
    <div className={styles.repeat}>
      <SelectField<Choice>
        label={t("Repeats")}
        value={value}
        options={[
          ...choicesFor(day),
          ...(isPlain ? [] : [kept]),
          { value: "own", label: t("In my own words") },
        ]}
        onChange={choose}
      />
      {isOwn && (
        <SavedField
          label={t("How it repeats")}
          placeholder={t("every last Thursday")}
          value=""
          isNeeded
          onSave={async (recurrence) => {
            const isSaved = await onSave({ recurrence });
            if (isSaved) setOwn(false);
            return isSaved;
          }}
        />
      )}
    </div>
  );
}
