// Tasks in words, and how they are grouped. Pure.
import type { Priority, Status, Task } from "../api/tasks";
import { t } from "../i18n";
import {
  addDays,
  type Day,
  dateOf,
  dayOf,
  daysBetween,
  shortDay,
  timeWords,
} from "../services/days";

/** The columns of the board; archived ones are not shown there. */
export const columns: readonly { status: Status; label: string }[] = [
  { status: "backlog", label: t("Backlog") },
  { status: "todo", label: t("To do") },
  { status: "in_progress", label: t("In progress") },
  { status: "blocked", label: t("Blocked") },
  { status: "done", label: t("Done") },
];

export const statuses = [...columns, { status: "archived", label: t("Archived") }] as const;
export const statusName = (status: Status): string =>
  statuses.find((each) => each.status === status)?.label ?? status;

export const priorities: readonly { value: Priority; label: string }[] = [
  { value: "urgent", label: t("Urgent") },
  { value: "high", label: t("High") },
  { value: "medium", label: t("Medium") },
  { value: "low", label: t("Low") },
];
export const priorityName = (priority: Priority): string =>
  priorities.find(({ value }) => value === priority)?.label ?? priority;

/** The day on which it is due, by the reader's clock. */
export function dueDay({ due_date, due_at }: Task): Day | null {
  return due_at ? dayOf(new Date(due_at)) : due_date;
}

/** `Today, 17:00`, `Yesterday`, `Fri 4 Dec`. */
export function dueWords(task: Task, today: Day = dayOf(new Date())): string {
  const day = dueDay(task);
  if (!day) return "";
  const days = daysBetween(today, day);
  const near: Record<number, string> = { [-1]: t("Yesterday"), 0: t("Today"), 1: t("Tomorrow") };
  const at = dateOf(day);
  const year = day.slice(0, 4) === today.slice(0, 4) ? "" : ` ${day.slice(0, 4)}`;
  const words = near[days] ?? `${shortDay(at)}${year}`;
  return task.due_at ? `${words}, ${timeWords(new Date(task.due_at))}` : words;
}

export type Group = "Overdue" | "Today" | "Next 7 days" | "Later" | "Without a date" | "Done";

export function groupOf(task: Task, today: Day = dayOf(new Date())): Group {
  if (task.status === "done" || task.status === "archived") return "Done";
  const day = dueDay(task);
  if (!day) return "Without a date";
  if (task.overdue || day < today) return "Overdue";
  if (day === today) return "Today";
  return day <= addDays(today, 7) ? "Next 7 days" : "Later";
}

const order: readonly Group[] = [
  "Overdue",
  "Today",
  "Next 7 days",
  "Later",
  "Without a date",
  "Done",
];

/** What a group is called; one that is not by days is called as it is. */
export function groupName(group: string): string {
  const names: Record<Group, string> = {
    Overdue: t("Overdue"),
    Today: t("Today"),
    "Next 7 days": t("Next 7 days"),
    Later: t("Later"),
    "Without a date": t("Without a date"),
    Done: t("Done"),
  };
  return names[group as Group] ?? group;
}

/** The tasks by when they are due; groups without any are left out. */
export function grouped(tasks: readonly Task[], today?: Day) {
  return order
    .map((group) => ({ group, tasks: tasks.filter((task) => groupOf(task, today) === group) }))
    .filter((each) => each.tasks.length);
}

export const isOpen = ({ status }: Task): boolean => status !== "done" && status !== "archived";

/** All that a row shows, for those who do not see it. */
export function spoken(task: Task): string {
  const due = dueWords(task);
  const parts = [
    task.title,
    isOpen(task) ? "" : t("done"),
    due && (task.overdue ? t("overdue since {due}", { due }) : t("due {due}", { due })),
    task.priority === "medium"
      ? ""
      : t("priority {priority}", { priority: priorityName(task.priority) }),
    task.blocked_by ? t("waits for {count}", { count: task.blocked_by }) : "",
  ];
  return parts.filter(Boolean).join(", ");
}
