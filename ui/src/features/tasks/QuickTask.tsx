import { type Ref, useCallback } from "react";
import { tasksApi } from "../../api/tasks";
import { t } from "../../i18n";
import { QuickAdd, type Understood } from "../../kit/QuickAdd";
import { momentWords } from "../../planner/momentWords";
import { priorityName } from "../../planner/taskWords";
import type { TaskChanges } from "../../planner/useTaskChanges";

type QuickProps = {
  onAdd: TaskChanges["add"];
  field?: Ref<HTMLInputElement>;
  /** Of what it is a part. */
  parent?: string;
};

export async function understoodOf(text: string, signal: AbortSignal): Promise<Understood> {
  const found = await tasksApi.understand(text, signal);
  const chips = [
    found.title,
    momentWords({ at: found.due_at ?? found.due_date, recurrence: found.recurrence }, found.words),
    found.priority && found.priority !== "medium"
      ? t("{priorityname} priority", { priorityname: priorityName(found.priority) })
      : "",
    found.project ?? "",
    ...(found.tags ?? []).map((tag) => `#${tag}`),
  ];
  return {
    chips: chips.map((chip) => chip ?? "").filter(Boolean),
    choices: found.ambiguous ?? [],
    problem: found.problem ?? "",
  };
}

/** A task in words. */
export function QuickTask({ onAdd, field, parent }: QuickProps) {
  const understand = useCallback(understoodOf, []);
  return (
    <QuickAdd
      label={parent ? t("New sub-task in words") : t("New task in words")}
      placeholder={
        parent
          ? t("Add a sub-task")
          : t("New task, for example: Call Bruna tomorrow at 5 #family !high")
      }
      hint={
        parent
          ? ""
          : t("#tag, !high and +project say more. On the board Alt and the arrows move a task.")
      }
      understand={understand}
      onAdd={async (words, key) => void (await onAdd(words, parent ? { parent } : {}, key))}
      later={(words) => ({ path: "/tasks", body: parent ? { words, parent } : { words } })}
      {...(field ? { field } : {})}
    />
  );
}
