import { Circle, CircleCheck } from "lucide-react";
import type { Task } from "../api/tasks";
import { t } from "../i18n";
import styles from "./planner.module.css";
import { TaskFacts } from "./TaskFacts";
import { isOpen } from "./taskWords";
import type { TaskChanges } from "./useTaskChanges";

export type RowProps = {
  task: Task;
  changes: TaskChanges;
  /** Which are chosen; without it none can be. */
  selection?: { ids: ReadonlySet<string>; toggle: (id: string) => void };
  isCurrent?: boolean;
  onOpen: (task: Task) => void;
};

/** The button that ticks a task off. */
export function DoneButton({ task, changes }: Pick<RowProps, "task" | "changes">) {
  const open = isOpen(task);
  const Icon = open ? Circle : CircleCheck;
  return (
    <button
      type="button"
      className={styles.doneButton}
      aria-pressed={!open}
      aria-label={t("Done: {title}", { title: task.title })}
      onClick={() => void changes.toggle(task)}
    >
      <Icon size={18} strokeWidth={1.75} aria-hidden />
    </button>
  );
}

export function TaskRow({ task, changes, selection, isCurrent, onOpen }: RowProps) {
  const chosen = selection?.ids.has(task.id) ?? false;
  return (
    <div
      className={`${styles.task} ${isOpen(task) ? "" : styles.isDone} ${chosen ? styles.selected : ""}`}
      data-row={task.id}
      data-selected={chosen || undefined}
    >
      {selection && (
        <label className={styles.taskCheck}>
          <input
            type="checkbox"
            checked={chosen}
            aria-label={t("Select {title}", { title: task.title })}
            onChange={() => selection.toggle(task.id)}
          />
        </label>
      )}
      <DoneButton task={task} changes={changes} />
      <a
        className={styles.taskTitle}
        href={`/tasks/${encodeURIComponent(task.id)}`}
        aria-current={isCurrent ? "true" : undefined}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey) return;
          event.preventDefault();
          onOpen(task);
        }}
      >
        <span dir="auto">{task.title}</span>
      </a>
      <TaskFacts task={task} />
    </div>
  );
}
