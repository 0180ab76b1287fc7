// Other calendars: files, feeds, accounts of calendar servers and what is in conflict with them.
import { json, request, withQuery } from "./client";

export type Form = "VEVENT" | "VTODO";
export type Refusal = { title: string; why: string };
export type Imported = {
  new: number;
  changed: number;
  known: number;
  kept: number;
  refused_count: number;
  refused: readonly Refusal[];
  problems: readonly string[];
};
export type Feed = {
  id: string;
  name: string;
  forms: readonly Form[];
  created_at: string;
  used_at: string | null;
  /** Told once, when it is made. */
  path: string | null;
};
export type Sends = "all" | "changes" | "nothing";
export type Account = {
  id: string;
  name: string;
  url: string;
  user: string;
  sends: Sends;
  interval_minutes: number;
  paused: boolean;
  calendars: readonly { href: string; name: string; on: boolean; read_only: boolean }[];
  error: string;
  synced_at: string | null;
  next_at: string | null;
  pending_deletions: number;
  refused: readonly Refusal[];
};
export type Synced = {
  received: number;
  sent: number;
  deleted_here: number;
  deleted_there: number;
  conflicts: number;
  refused: number;
  account: Account;
};
export type SyncConflict = {
  id: string;
  account_name: string;
  title: string;
  at: string;
  here: string | null;
  there: string | null;
};
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
    return (await response.json()) as Imported;
  },
  feeds: (signal?: AbortSignal) => json<Items<Feed>>("GET", "/calendar/feeds", undefined, signal),
  addFeed: (name: string) => json<Feed>("POST", "/calendar/feeds", { name }),
  removeFeed: (id: string) => json<void>("DELETE", `/calendar/feeds/${encodeURIComponent(id)}`),
  accounts: (signal?: AbortSignal) =>
    json<Items<Account>>("GET", "/calendar/accounts", undefined, signal),
  addAccount: (draft: { url: string; user: string; password: string; sends: Sends }) =>
    json<Account>("POST", "/calendar/accounts", draft),
  changeAccount: (id: string, patch: { paused?: boolean; sends?: Sends; off?: string[] }) =>
    json<Account>("PATCH", account(id), patch),
  removeAccount: (id: string) => json<{ removed: number }>("DELETE", account(id)),
  sync: (id: string, acceptDeletions = false) =>
    json<Synced>("POST", `${account(id)}/sync`, { accept_deletions: acceptDeletions }),
  conflicts: (signal?: AbortSignal) =>
    json<Items<SyncConflict>>("GET", "/calendar/conflicts", undefined, signal),
  settle: (id: string, keep: Keep) =>
    json<void>("POST", `/calendar/conflicts/${encodeURIComponent(id)}`, { keep }),
};
