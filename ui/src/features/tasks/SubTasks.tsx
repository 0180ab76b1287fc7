import type { Task } from "../../api/tasks";
import { t } from "../../i18n";
import { TaskRow } from "../../planner/TaskRow";
import type { TaskChanges } from "../../planner/useTaskChanges";
import { QuickTask } from "./QuickTask";
import { useTasks } from "./useTasks";

type SubProps = {
  task: Task;
  changes: TaskChanges;
  onOpen: (task: Pick<Task, "id">) => void;
};

/** The parts of a task. */
export function SubTasks({ task, changes, onOpen }: SubProps) {
  const parts = useTasks({ parent: task.id, order: "position" });
  return (
    <section aria-label={t("Sub-tasks")}>
      <h3>
        {t("Sub-tasks")}{" "}
        {task.children > 0 && (
          <small>
            {t("{children_done} of {children} done", {
              children_done: task.children_done,
              children: task.children,
            })}
          </small>
        )}
      </h3>
      <ul>
        {parts.items.map((part) => (
          <li key={part.id}>
            <TaskRow task={part} changes={changes} onOpen={onOpen} />
          </li>
        ))}
      </ul>
      <QuickTask onAdd={changes.add} parent={task.id} />
    </section>
  );
}
