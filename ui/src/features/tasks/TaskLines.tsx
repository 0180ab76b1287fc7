import { type RefObject, useEffect, useMemo } from "react";
import type { Task } from "../../api/tasks";
import { t } from "../../i18n";
import { useRows } from "../../kit/useRows";
import planner from "../../planner/planner.module.css";
import { TaskRow } from "../../planner/TaskRow";
import { groupName } from "../../planner/taskWords";
import type { ListProps } from "./TaskList";
import styles from "./Tasks.module.css";
import type { Tasks } from "./useTasks";

type Line = { group: string } & ({ many: number } | { task: Task });
type LinesProps = ListProps & {
  list: RefObject<HTMLDivElement | null>;
  tasks: Tasks;
  groups: readonly { group: string; tasks: readonly Task[] }[];
};

const ROW_PX = 45;
/** How many rows before the end the next page is asked for. */
const AHEAD = 30;

/** Only the rows in view exist, so that ten thousand scroll like ten. */
export function TaskLines(props: LinesProps) {
  const { list, tasks, groups, changes, selection, current, onOpen } = props;
  const lines = useMemo(
    () =>
      groups.flatMap(({ group, tasks: items }): Line[] => [
        { group, many: items.length },
        ...items.map((task) => ({ group, task })),
      ]),
    [groups],
  );
  const rows = useRows({ rows: lines, box: list, keyOf, sizeOf, overscan: 12 });
  const shown = rows.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= lines.length - AHEAD) void tasks.more();
  });
  return (
    <div className={`${styles.list} scroll`} ref={list}>
      <div className="page-inner">
        <ul
          className={styles.lines}
          style={{ height: rows.getTotalSize() }}
          aria-label={t("Tasks")}
        >
          {shown.map((row) => {
            const line = lines[row.index];
            return (
              line && (
                <li
                  key={row.key}
                  ref={rows.measureElement}
                  data-index={row.index}
                  data-group={line.group}
                  style={{ translate: `0 ${row.start}px` }}
                >
                  {"task" in line ? (
                    <TaskRow
                      task={line.task}
                      changes={changes}
                      selection={selection}
                      isCurrent={line.task.id === current}
                      onOpen={onOpen}
                    />
                  ) : (
                    <h2 className={line.group === "Overdue" ? planner.overdue : ""}>
                      {groupName(line.group)} <small>{line.many}</small>
                    </h2>
                  )}
                </li>
              )
            );
          })}
        </ul>
      </div>
    </div>
  );
}

const keyOf = (line: Line) => ("task" in line ? line.task.id : line.group);
const sizeOf = () => ROW_PX;
