// The schedules' part of the HTTP API, and what they brought.
import type {
  DeliveryPatch,
  DeliveryShown,
  NewSchedule,
  NoticeList,
  NoticeShown,
  PushBrowser,
  PushShown,
  ScheduleHistory,
  ScheduleList,
  SchedulePatch,
  ScheduleShown,
} from "../contract/openapi";
import { json, withQuery } from "./client";

export type {
  DeliveryPatch,
  DeliveryShown as Delivery,
  NewSchedule,
  NoticeShown as Notice,
  ScheduleRunShown as ScheduleRun,
  ScheduleShown as Schedule,
} from "../contract/openapi";

const at = encodeURIComponent;
const one = (id: string) => `/schedules/${at(id)}`;

export const schedulesApi = {
  list: (cursor: string | null, signal?: AbortSignal) =>
    json<ScheduleList>("GET", withQuery("/schedules", { limit: 200, cursor }), undefined, signal),
  get: (id: string, signal?: AbortSignal) => json<ScheduleShown>("GET", one(id), undefined, signal),
  add: (draft: NewSchedule) => json<ScheduleShown>("POST", "/schedules", draft),
  change: (id: string, patch: SchedulePatch) => json<ScheduleShown>("PATCH", one(id), patch),
  remove: (id: string) => json<void>("DELETE", one(id)),
  act: (id: string, what: "run" | "pause" | "resume") =>
    json<ScheduleShown>("POST", `${one(id)}/${what}`),
  snooze: (id: string, minutes: number) =>
    json<ScheduleShown>("POST", `${one(id)}/snooze`, { minutes }),
  history: (id: string, signal?: AbortSignal) =>
    json<ScheduleHistory>("GET", `${one(id)}/history`, undefined, signal),
};

export const noticesApi = {
  unseen: (signal?: AbortSignal) =>
    json<NoticeList>("GET", withQuery("/schedules/notices", { unseen: true }), undefined, signal),
  seen: (id: string) => json<NoticeShown>("POST", `/schedules/notices/${at(id)}/seen`),
};

export const pushApi = {
  read: () => json<PushShown>("GET", "/schedules/push"),
  add: (subscription: PushSubscriptionJSON) =>
    json<PushBrowser>("POST", "/schedules/push", subscription),
  remove: (endpoint: string) => json<void>("DELETE", withQuery("/schedules/push", { endpoint })),
};

export const deliveryApi = {
  read: (signal?: AbortSignal) =>
    json<DeliveryShown>("GET", "/schedules/delivery", undefined, signal),
  change: (patch: DeliveryPatch) => json<DeliveryShown>("PUT", "/schedules/delivery", patch),
  try: () => json<NoticeShown>("POST", "/schedules/delivery/try"),
};
