import { useEffect } from "react";
import type { Status, Task } from "../../api/tasks";
import { t } from "../../i18n";
import { ProblemNotice } from "../../kit/pieces";
import { TaskRow } from "../../planner/TaskRow";
import { queryOf, type TaskFilter } from "./filter";
import { More } from "./More";
import type { Drop } from "./places";
import type { ListProps } from "./TaskList";
import styles from "./Tasks.module.css";
import { type Tasks, useTasks } from "./useTasks";

type ColumnProps = ListProps & {
  status: Status;
  label: string;
  filter: TaskFilter;
  drops: readonly Drop[];
  /** What is known of it, and what is shown. */
  onShown: (tasks: Tasks, items: readonly Task[]) => void;
};

/** The tasks with one that is carried at the place where it would be put. */
function withDrop(items: readonly Task[], status: Status, drop: Drop): readonly Task[] {
  const others = items.filter(({ id }) => id !== drop.task.id);
  if (drop.status !== status) return others;
  const at = others.findIndex(({ id }) => id === drop.before);
  return others.toSpliced(at < 0 ? others.length : at, 0, { ...drop.task, status });
}

/** How many cards of a column are read at a time. */
const CARDS = 50;

/** A column of the board. */
export function Column(props: ColumnProps) {
  const { status, label, filter, drops, current, changes, selection, onOpen, onShown } = props;
  const tasks = useTasks({ ...queryOf({ ...filter, status }), order: "position", limit: CARDS });
  const items = drops.reduce((now, drop) => withDrop(now, status, drop), tasks.items);
  useEffect(() => onShown(tasks, items));
  return (
    <section className={styles.column} data-status={status} aria-label={label}>
      <h2>
        {label} <small>{tasks.cursor ? `${items.length}+` : items.length}</small>
      </h2>
      {tasks.problem && <ProblemNotice problem={tasks.problem} onRetry={() => void tasks.read()} />}
      <ul className="scroll" aria-label={t("Tasks: {label}", { label })}>
        {items.map((task) => (
          <li
            key={task.id}
            className={drops.some((drop) => drop.task.id === task.id) ? styles.draft : ""}
          >
            <TaskRow
              task={task}
              changes={changes}
              selection={selection}
              isCurrent={task.id === current}
              onOpen={onOpen}
            />
          </li>
        ))}
        {tasks.isKnown && !items.length && <li className={styles.nothing}>{t("No tasks")}</li>}
        {tasks.cursor && (
          <li>
            <More key={tasks.cursor} onMore={tasks.more} />
          </li>
        )}
      </ul>
    </section>
  );
}
