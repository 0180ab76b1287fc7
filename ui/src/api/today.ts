// One page of the HTTP API: what is due, promised and new.
import type { NoticeShown, TaskShown } from "../contract/openapi";
import type { Event } from "./calendar";
import { json } from "./client";
import type { ScheduleRun } from "./schedules";
import type { Memory } from "./types";

export type Today = {
  date: string;
  overdue: readonly TaskShown[];
  tasks: readonly TaskShown[];
  events: readonly Event[];
  promised: readonly Memory[];
  runs: readonly (ScheduleRun & { title?: string })[];
  notices: readonly NoticeShown[];
};

export const readToday = (signal?: AbortSignal) => json<Today>("GET", "/today", undefined, signal);
