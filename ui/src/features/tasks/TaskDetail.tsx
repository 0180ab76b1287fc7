// One task with all that belongs to it. Each field is saved as soon as it is left.
import { Trash2 } from "lucide-react";
import { useCallback } from "react";
import { type Task, type TaskPatch, tasksApi } from "../../api/tasks";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { ProblemNotice, Skeleton } from "../../kit/pieces";
import { DoneButton } from "../../planner/TaskRow";
import type { TaskChanges } from "../../planner/useTaskChanges";
import { useApp } from "../../services/context";
import { useNews } from "../../services/news";
import { useRead } from "../../services/useRead";
import { fullDate } from "../../services/words";
import { SavedField } from "./SavedField";
import { SubTasks } from "./SubTasks";
import { TaskFields } from "./TaskFields";
import { TaskLinks } from "./TaskLinks";
import styles from "./Tasks.module.css";

type DetailProps = {
  id: string;
  changes: TaskChanges;
  onOpen: (task: Pick<Task, "id">) => void;
  onClose: () => void;
};

export function TaskDetail({ id, changes, onOpen, onClose }: DetailProps) {
  const { plannerNews } = useApp();
  const ask = useCallback((signal: AbortSignal) => tasksApi.get(id, signal), [id]);
  const { value: task, problem, read, look } = useRead(ask);
  useNews(plannerNews, look);
  if (!task) {
    return (
      <div className={styles.detail}>
        {problem ? (
          <ProblemNotice problem={problem} onRetry={() => void read()} />
        ) : (
          <Skeleton lines={5} label={t("Loading the task")} />
        )}
      </div>
    );
  }
  const save = (patch: TaskPatch) =>
    changes.change(task, patch, t("“{title}” was changed", { title: task.title }));
  return (
    <div className={styles.detail}>
      <div className={styles.title}>
        <DoneButton task={task} changes={changes} />
        <SavedField
          label={t("Title")}
          hidden
          value={task.title}
          isNeeded
          onSave={(title) => save({ title })}
        />
      </div>
      {task.parent && (
        <p className="small">
          <button type="button" className="link" onClick={() => onOpen({ id: task.parent ?? "" })}>
            {t("Part of another task")}
          </button>
        </p>
      )}
      <TaskFields task={task} onSave={save} />
      <SavedField
        label={t("Notes")}
        value={task.description}
        lines={4}
        onSave={(description) => save({ description })}
      />
      <SubTasks task={task} changes={changes} onOpen={onOpen} />
      <TaskLinks task={task} onOpen={onOpen} onSave={save} />
      <footer>
        <small>
          {t("Made {date}", { date: fullDate(Date.parse(task.created_at)) })}
          {task.done_at && `, ${t("done {date}", { date: fullDate(Date.parse(task.done_at)) })}`}
        </small>
        <Button
          look="quiet"
          icon={Trash2}
          onClick={async () => void ((await changes.remove([task])) && onClose())}
        >
          {t("Delete")}
        </Button>
      </footer>
    </div>
  );
}
