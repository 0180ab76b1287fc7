// One page of the HTTP API: what is due, promised and new.
import type { Today as TodayShown } from "../contract/openapi";
import type { Event } from "./calendar";
import { json } from "./client";

export type Today = Omit<TodayShown, "events"> & { events: readonly Event[] };

export const readToday = (signal?: AbortSignal) => json<Today>("GET", "/today", undefined, signal);
