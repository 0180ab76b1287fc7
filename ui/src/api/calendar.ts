// The calendar's part of the HTTP API; comes with its room.
import type { EventDraft, EventShown, UnderstoodEvent, UndoneEvents } from "../contract/openapi";
import { json, make, withQuery } from "./client";

/** An instance; its times are RFC 3339, or days if it takes whole ones. The end is not part of it. */
export type Event = Omit<EventShown, "account"> & { account: { id: string; name: string } | null };
export type Attendee = { name?: string | null; email?: string | null };
export type Scope = "this" | "following" | "all";
export type { EventDraft } from "../contract/openapi";
export type FreeTime = { start: string; end: string };
const at = encodeURIComponent;
const one = (id: string) => `/calendar/events/${at(id)}`;

export const calendarApi = {
  events: (query: { start: string; end: string; query?: string }, signal?: AbortSignal) =>
    json<{ items: readonly Event[]; more: boolean }>(
      "GET",
      withQuery("/calendar/events", query),
      undefined,
      signal,
    ),
  event: (id: string, signal?: AbortSignal) => json<Event>("GET", one(id), undefined, signal),
  add: (draft: EventDraft, key?: string) => make<Event>("/calendar/events", draft, key),
  change: (id: string, patch: EventDraft, scope: Scope) =>
    json<Event>("PATCH", withQuery(one(id), { scope }), patch),
  remove: (id: string, scope: Scope) =>
    json<{ undo: string }>("DELETE", withQuery(one(id), { scope })),
  undo: (token: string) => json<UndoneEvents>("POST", "/calendar/undo", { token }),
  understand: (text: string, signal?: AbortSignal) =>
    json<UnderstoodEvent>("GET", withQuery("/calendar/understand", { text }), undefined, signal),
};
