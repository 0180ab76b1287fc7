// The tasks: what there is to do, as a list by day or as a board.
import { ListChecks } from "lucide-react";
import { useRef, useState } from "react";
import type { Task } from "../../api/tasks";
import { t } from "../../i18n";
import { IconButton } from "../../kit/Button";
import { PageHead } from "../../kit/PageHead";
import { Panes } from "../../kit/Panes";
import { ProblemNotice, Segmented } from "../../kit/pieces";
import { useTaskChanges } from "../../planner/useTaskChanges";
import { ZoneNote } from "../../planner/ZoneNote";
import { useApp } from "../../services/context";
import { addressOfTasks, type TasksPlace, type TasksView } from "../../services/router";
import { remember, remembered } from "../../services/store";
import { useKey } from "../../services/useKey";
import { Board } from "./Board";
import { filterIn, queryOf, type TaskFilter, textOf } from "./filter";
import { QuickTask } from "./QuickTask";
import { Selection } from "./Selection";
import { TaskDetail } from "./TaskDetail";
import { TaskFilters } from "./TaskFilters";
import { TaskList } from "./TaskList";
import styles from "./Tasks.module.css";
import { useSelection } from "./useSelection";
import { useTasks } from "./useTasks";

const KEY = "bethink.tasks";
const views = [
  { value: "list", label: t("List") },
  { value: "board", label: t("Board") },
] as const satisfies readonly { value: TasksView; label: string }[];

export default function TasksRoom({ place }: { place: TasksPlace }) {
  const { router } = useApp();
  const [usual, setUsual] = useState(
    () => remembered<{ view: TasksView }>(KEY, { view: "list" }).view,
  );
  const view = place.view ?? usual;
  const filter = filterIn(place.filter);
  const tasks = useTasks(queryOf(filter));
  const changes = useTaskChanges();
  const selection = useSelection();
  const [choosing, setChoosing] = useState(false);
  const add = useRef<HTMLInputElement>(null);
  useKey("create", () => add.current?.focus());
  const show = (next: TasksView) => {
    setUsual(next);
    remember(KEY, { view: next });
    router.go(addressOfTasks({ view: next, filter: place.filter }), true);
  };
  const onFilter = (next: TaskFilter) =>
    router.go(addressOfTasks({ view, filter: textOf(next) }), true);
  const open = (task: Pick<Task, "id">) =>
    router.go(addressOfTasks({ task: task.id, filter: place.filter }), place.task !== null);
  const close = () => router.go(addressOfTasks({ view, filter: place.filter }), true);
  const given = { changes, selection, current: place.task, onOpen: open };
  const detail = place.task && (
    <TaskDetail key={place.task} id={place.task} changes={changes} onOpen={open} onClose={close} />
  );
  return (
    <Panes name="tasks" side={detail} sideLabel={t("Task")} onCloseSide={close}>
      <PageHead title={t("Tasks")}>
        <IconButton
          icon={ListChecks}
          label={t("Select several")}
          className={styles.choose ?? ""}
          aria-pressed={choosing}
          onClick={() => {
            selection.clear();
            setChoosing(!choosing);
          }}
        />
        <Segmented label={t("View")} value={view} options={views} onChange={show} />
      </PageHead>
      <div
        className={`page-inner ${styles.top}`}
        data-view={view}
        data-choosing={choosing || undefined}
      >
        <div className={styles.bar}>
          <QuickTask onAdd={changes.add} field={add} />
          <TaskFilters filter={filter} tasks={tasks.items} view={view} onFilter={onFilter} />
        </div>
        <ZoneNote />
        {tasks.problem && (
          <ProblemNotice problem={tasks.problem} onRetry={() => void tasks.read()} />
        )}
        <Selection all={tasks.items} selection={selection} changes={changes} />
      </div>
      {view === "board" ? (
        <Board filter={filter} {...given} />
      ) : (
        <TaskList tasks={tasks} filter={filter} {...given} />
      )}
    </Panes>
  );
}
