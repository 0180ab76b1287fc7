import type { Task } from "../../api/tasks";
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
    <section aria-label="Sub-tasks">
      <h3>
        Sub-tasks{" "}
        {task.children > 0 && (
          <small>
            {task.children_done} of {task.children} done
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
