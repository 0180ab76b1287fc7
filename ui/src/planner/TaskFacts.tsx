import { CalendarClock, Flag, Hourglass, ListChecks, Repeat } from "lucide-react";
import type { Task } from "../api/tasks";
import { t } from "../i18n";
import { recurrenceWords } from "../services/recurrence";
import styles from "./planner.module.css";
import { dueWords, isOpen, priorityName } from "./taskWords";

/** What is known of a task, beside its title. */
export function TaskFacts({ task }: { task: Task }) {
  const due = dueWords(task);
  const { priority, project, tags, children, children_done: done, blocked_by: waits } = task;
  return (
    <span className={styles.taskFacts} data-facts>
      {due && (
        <span className={task.overdue && isOpen(task) ? styles.overdue : ""}>
          <CalendarClock size={12} aria-hidden />
          {task.overdue && isOpen(task) && <span>{t("Overdue:")}</span>} {due}
        </span>
      )}
      {priority !== "medium" && (
        <span className={styles[priority]}>
          <Flag size={12} aria-hidden /> {priorityName(priority)}
        </span>
      )}
      {children > 0 && (
        <span title={t("Sub-tasks done")}>
          <ListChecks size={12} aria-hidden /> {t("{done} of {children}", { done, children })}
        </span>
      )}
      {waits > 0 && isOpen(task) && (
        <span title={task.depends_on.map(({ title }) => title).join(", ")}>
          <Hourglass size={12} aria-hidden /> {t("waits for {waits}", { waits })}
        </span>
      )}
      {task.recurrence && (
        <span>
          <Repeat size={12} aria-hidden />{" "}
          {recurrenceWords(task.recurrence, task.recurrence_words) || t("repeats")}
        </span>
      )}
      {project && <span>{project}</span>}
      {tags.map((tag) => (
        <span key={tag}>#{tag}</span>
      ))}
    </span>
  );
}
