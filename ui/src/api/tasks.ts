// The tasks' part of the HTTP API; comes with their room.
import type {
  TaskDeletion,
  TaskDraft,
  TaskList,
  TaskPatch,
  TaskShown,
  UnderstoodTask,
  UndoneTasks,
} from "../contract/openapi";
import { json, make, withQuery } from "./client";

export type { TaskList, TaskPatch, TaskShown as Task } from "../contract/openapi";
export type Status = TaskShown["status"];
export type Priority = TaskShown["priority"];

export type TaskQuery = {
  status?: string;
  priority?: string;
  tag?: string;
  project?: string;
  due?: string;
  query?: string;
  parent?: string;
  done?: boolean;
  order?: "due" | "position" | "created" | "updated";
  limit?: number;
  cursor?: string | null;
};
const one = (id: string) => `/tasks/${encodeURIComponent(id)}`;

export const tasksApi = {
  list: (query: TaskQuery, signal?: AbortSignal) =>
    json<TaskList>("GET", withQuery("/tasks", query), undefined, signal),
  get: (id: string, signal?: AbortSignal) => json<TaskShown>("GET", one(id), undefined, signal),
  add: (draft: TaskDraft, key?: string) => make<TaskShown>("/tasks", draft, key),
  change: (id: string, patch: TaskPatch) => json<TaskShown>("PATCH", one(id), patch),
  remove: (id: string) => json<TaskDeletion>("DELETE", one(id)),
  undo: (token: string) => json<UndoneTasks>("POST", "/tasks/undo", { token }),
  understand: (text: string, signal?: AbortSignal) =>
    json<UnderstoodTask>("GET", withQuery("/tasks/understand", { text }), undefined, signal),
};
