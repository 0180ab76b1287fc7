// Other calendars: files, feeds, accounts of calendar servers and what is in conflict with them.
import type {
  CalendarAccountDraft,
  CalendarAccountPatch,
  CalendarAccountShown,
  CalendarConflictList,
  FeedShown,
  ImportedCalendarFile,
  Synced,
} from "../contract/openapi";
import { json, request, withQuery } from "./client";

export type {
  CalendarAccountShown as Account,
  CalendarConflictShown as SyncConflict,
  ImportedCalendarFile as Imported,
  Synced,
} from "../contract/openapi";
export type Sends = CalendarAccountShown["sends"];
export type Keep = "here" | "there" | "both";
type Items<T> = { items: readonly T[] };

const account = (id: string) => `/calendar/accounts/${encodeURIComponent(id)}`;

export const calendarsApi = {
  exportAddress: "/calendar/export.ics",
  invitationAddress: (event: string) =>
    `/calendar/events/${encodeURIComponent(event)}/invitation.ics`,
  import: async (file: File, overwrite: boolean) => {
    const response = await request(withQuery("/calendar/import", { overwrite }), {
      method: "POST",
      headers: { accept: "application/json", "content-type": "application/octet-stream" },
      body: file,
    });
    return (await response.json()) as ImportedCalendarFile;
  },
  feeds: (signal?: AbortSignal) =>
    json<Items<FeedShown>>("GET", "/calendar/feeds", undefined, signal),
  addFeed: (name: string) => json<FeedShown>("POST", "/calendar/feeds", { name }),
  removeFeed: (id: string) => json<void>("DELETE", `/calendar/feeds/${encodeURIComponent(id)}`),
  accounts: (signal?: AbortSignal) =>
    json<Items<CalendarAccountShown>>("GET", "/calendar/accounts", undefined, signal),
  addAccount: (draft: CalendarAccountDraft) =>
    json<CalendarAccountShown>("POST", "/calendar/accounts", draft),
  changeAccount: (id: string, patch: CalendarAccountPatch) =>
    json<CalendarAccountShown>("PATCH", account(id), patch),
  removeAccount: (id: string) => json<{ removed: number }>("DELETE", account(id)),
  sync: (id: string, acceptDeletions = false) =>
    json<Synced>("POST", `${account(id)}/sync`, { accept_deletions: acceptDeletions }),
  conflicts: (signal?: AbortSignal) =>
    json<CalendarConflictList>("GET", "/calendar/conflicts", undefined, signal),
  settle: (id: string, keep: Keep) =>
    json<void>("POST", `/calendar/conflicts/${encodeURIComponent(id)}`, { keep }),
};
