import { ListTodo } from "lucide-react";
import { useEffect, useRef } from "react";
import type { Task } from "../../api/tasks";
import { Empty, Skeleton } from "../../kit/pieces";
import { useListKeys } from "../../kit/useListKeys";
import { TaskRow } from "../../planner/TaskRow";
import { grouped } from "../../planner/taskWords";
import type { TaskChanges } from "../../planner/useTaskChanges";
import { useKey } from "../../services/useKey";
import { isFiltered, type TaskFilter } from "./filter";
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
  const { tasks, filter, changes, selection, current, onOpen } = props;
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
        <Skeleton lines={6} label="Loading tasks" />
      </div>
    );
  }
  if (!tasks.items.length) return isFiltered(filter) ? <NoneFit /> : <NoneYet />;
  const groups = filter.query.trim()
    ? [{ group: "Best first", tasks: tasks.items }]
    : grouped(tasks.items);
  return (
    <div className="task-list scroll" ref={list}>
      <div className="page-inner">
        {groups.map(({ group, tasks: items }) => (
          <section key={group} aria-label={group}>
            <h2 className={group === "Overdue" ? "overdue" : ""}>
              {group} <small>{items.length}</small>
            </h2>
            <ul aria-label={`Tasks: ${group}`}>
              {items.map((task) => (
                <li key={task.id}>
                  <TaskRow
                    task={task}
                    changes={changes}
                    selection={selection}
                    isCurrent={task.id === current}
                    onOpen={onOpen}
                  />
                </li>
              ))}
            </ul>
          </section>
        ))}
        {tasks.cursor && <More key={tasks.cursor} onMore={tasks.more} />}
      </div>
    </div>
  );
}

/** Reads on as soon as it comes into view. */
export function More({ onMore }: { onMore: () => Promise<void> }) {
  const end = useRef<HTMLDivElement>(null);
  const latest = useRef(onMore);
  latest.current = onMore;
  useEffect(() => {
    const watch = new IntersectionObserver(([seen]) => {
      if (!seen?.isIntersecting) return;
      watch.disconnect();
      void latest.current();
    });
    if (end.current) watch.observe(end.current);
    return () => watch.disconnect();
  }, []);
  return <div ref={end} className="list-end" />;
}

function NoneFit() {
  return (
    <Empty icon={ListTodo} title="No tasks fit">
      <p>Choose other filters, or show all.</p>
    </Empty>
  );
}

function NoneYet() {
  return (
    <Empty icon={ListTodo} title="Nothing to do">
      <p>
        Write a task into the field above as you would say it, for example “Pay the rent on the
        third #home” or “Water the plants every Friday”. In a chat you can say “remind me to …”.
      </p>
    </Empty>
  );
}
