import { X } from "lucide-react";
import { useRef } from "react";
import type { Task } from "../../api/tasks";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { ListTools } from "../../kit/ListTools";
import { SelectField } from "../../kit/Select";
import { priorities, statuses } from "../../planner/taskWords";
import type { TasksView } from "../../services/router";
import { isFiltered, narrowedBy, noFilter, type TaskFilter } from "./filter";

type FiltersProps = {
  filter: TaskFilter;
  tasks: readonly Task[];
  view: TasksView;
  onFilter: (filter: TaskFilter) => void;
};

/** All that were seen once, so that a choice does not vanish by being chosen. */
function useSeen(found: readonly string[], chosen: string): readonly string[] {
  const seen = useRef(new Set<string>());
  for (const each of [...found, chosen]) if (each) seen.current.add(each);
  return [...seen.current].toSorted((a, b) => a.localeCompare(b));
}

const dues = [
  { value: "", label: t("Any date") },
  { value: "overdue", label: t("Overdue") },
  { value: "today", label: t("Due today") },
  { value: "week", label: t("Due this week") },
  { value: "none", label: t("Without a date") },
];

export function TaskFilters({ filter, tasks, view, onFilter }: FiltersProps) {
  const tags = useSeen(
    tasks.flatMap((task) => task.tags),
    filter.tag,
  );
  const projects = useSeen(
    tasks.flatMap(({ project }) => project ?? []),
    filter.project,
  );
  const choice = (
    name: keyof TaskFilter,
    label: string,
    options: readonly { value: string; label: string }[],
  ) => (
    <SelectField
      label={label}
      value={filter[name]}
      options={options}
      onChange={(value) => onFilter({ ...filter, [name]: value })}
    />
  );
  const named = (all: string, values: readonly string[]) => [
    { value: "", label: all },
    ...values.map((value) => ({ value, label: value })),
  ];
  return (
    <ListTools
      label={t("Search tasks")}
      query={filter.query}
      onQuery={(query) => onFilter({ ...filter, query })}
      narrowed={narrowedBy(filter)}
      filters={() => (
        <>
          {view === "list" &&
            choice("status", t("State"), [
              { value: "open", label: t("Not done") },
              { value: "all", label: t("All") },
              ...statuses.map(({ status, label }) => ({ value: status, label })),
            ])}
          {choice("due", t("Due"), dues)}
          {choice("priority", t("Priority"), [
            { value: "", label: t("Any priority") },
            ...priorities,
          ])}
          {tags.length > 0 && choice("tag", t("Tag"), named(t("All tags"), tags))}
          {projects.length > 0 &&
            choice("project", t("Project"), named(t("All projects"), projects))}
        </>
      )}
    >
      {isFiltered(filter) && (
        <Button look="quiet" icon={X} onClick={() => onFilter(noFilter)}>
          {t("Show all")}
        </Button>
      )}
    </ListTools>
  );
}
