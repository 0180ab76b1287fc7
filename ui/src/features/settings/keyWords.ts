// What keys let do, in words, and how long they may live.
import type { KeyBody } from "../../api/types";

export type Scope = NonNullable<KeyBody["scopes"]>[number];

export const scopes: readonly { scope: Scope; allows: string; usual: boolean }[] = [
  {
    scope: "read",
    allows: "Read and search memories, conversations and files",
    usual: true,
  },
  { scope: "write", allows: "Change them, and approve tool calls", usual: true },
  { scope: "chat", allows: "Chat, upload files, stop answers", usual: true },
  { scope: "admin", allows: "Manage users and tool servers, read metrics", usual: false },
];

export const lives: readonly { days: number | null; words: string }[] = [
  { days: 30, words: "In 30 days" },
  { days: 90, words: "In 90 days" },
  { days: 365, words: "In a year" },
  { days: null, words: "Never" },
];

const DAY_MS = 86_400_000;

export const endOf = (days: number | null, now: number = Date.now()): string | null =>
  days === null ? null : new Date(now + days * DAY_MS).toISOString();

export const FIRST_USER = `bethink users add NAME
bethink users key add NAME --label laptop`;

export const MIN_PASSWORD = 10;
