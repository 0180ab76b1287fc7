// Which tasks are shown, as the address has it. Pure.
import type { TaskQuery } from "../../api/tasks";

export type TaskFilter = {
  query: string;
  /** `open`, `all`, or a status. */
  status: string;
  priority: string;
  tag: string;
  project: string;
  due: string;
};

export const noFilter: TaskFilter = {
  query: "",
  status: "open",
  priority: "",
  tag: "",
  project: "",
  due: "",
};
const names = Object.keys(noFilter) as (keyof TaskFilter)[];

export function filterIn(text: string): TaskFilter {
  const given = new URLSearchParams(text);
  const known = names.map((name) => [name, given.get(name) ?? noFilter[name]] as const);
  return Object.fromEntries(known) as TaskFilter;
}

export function textOf(filter: TaskFilter): string {
  const given = names.filter((name) => filter[name] !== noFilter[name]);
  return new URLSearchParams(given.map((name) => [name, filter[name]])).toString();
}

/** How many conditions are set beside the words. */
export const narrowedBy = (filter: TaskFilter): number =>
  names.filter((name) => name !== "query" && filter[name] !== noFilter[name]).length;

export const isFiltered = (filter: TaskFilter): boolean => textOf(filter) !== "";

export function queryOf({ query, status, priority, tag, project, due }: TaskFilter): TaskQuery {
  const rest = {
    ...(query.trim() ? { query: query.trim() } : {}),
    ...(priority ? { priority } : {}),
    ...(tag ? { tag } : {}),
    ...(project ? { project } : {}),
    ...(due ? { due } : {}),
  };
  if (status === "open") return { ...rest, done: false };
  return status === "all" ? rest : { ...rest, status };
}
