import { ListTodo } from "lucide-react";
import { useRef } from "react";
import type { Task } from "../../api/tasks";
import { t } from "../../i18n";
import { Empty, Skeleton } from "../../kit/pieces";
import { useListKeys } from "../../kit/useListKeys";
import { grouped } from "../../planner/taskWords";
import type { TaskChanges } from "../../planner/useTaskChanges";
import { useKey } from "../../services/useKey";
import { isFiltered, type TaskFilter } from "./filter";
import { TaskLines } from "./TaskLines";
import type { Selected } from "./useSelection";
import type { Tasks } from "./useTasks";

export type ListProps = {
  changes: TaskChanges;
  selection: Selected;
  current: string | null;
  onOpen: (task: Task) => void;
};

/** The tasks by when they are due. What was found by words stands as it was found, best first. */
export function TaskList(props: ListProps & { tasks: Tasks; filter: TaskFilter }) {
  const { tasks, filter, changes, selection, onOpen } = props;
  const list = useRef<HTMLDivElement>(null);
  const one = (id: string) => tasks.items.find((each) => each.id === id);
  const act = (work: (task: Task) => unknown) => (id: string) => {
    const task = one(id);
    if (task) work(task);
  };
  useListKeys(list, {
    edit: act(onOpen),
    accept: act((task) => changes.toggle(task)),
    remove: act((task) => changes.remove([task])),
  });
  useKey("select", () => {
    const row = list.current?.querySelector<HTMLElement>("[data-row]:focus-within");
    if (row?.dataset.row) selection.toggle(row.dataset.row);
  });
  if (!tasks.isKnown) {
    return tasks.problem ? null : (
      <div className="page-inner">
        <Skeleton lines={6} label={t("Loading tasks")} />
      </div>
    );
  }
  if (!tasks.items.length) return isFiltered(filter) ? <NoneFit /> : <NoneYet />;
  const isSearch = filter.query.trim() !== "";
  const groups = isSearch ? [{ group: t("Best first"), tasks: tasks.items }] : grouped(tasks.items);
  return <TaskLines list={list} groups={groups} {...props} />;
}

function NoneFit() {
  return (
    <Empty icon={ListTodo} title={t("No tasks fit")}>
      <p>{t("Choose other filters, or show all.")}</p>
    </Empty>
  );
}

function NoneYet() {
  return (
    <Empty icon={ListTodo} title={t("Nothing to do")}>
      <p>
        {t(
          "Write a task into the field above as you would say it, for example “Pay the rent on the third #home” or “Water the plants every Friday”. In a chat you can say “remind me to …”.",
        )}
      </p>
    </Empty>
  );
}
