// What keys let do, in words, and how long they may live.

import type { KeyBody } from "../../api/types";
import { t } from "../../i18n";

export type Scope = NonNullable<KeyBody["scopes"]>[number];

export const scopes = (): readonly { scope: Scope; allows: string; usual: boolean }[] => [
  {
    scope: "read",
    allows: t("Read and search memories, conversations and files"),
    usual: true,
  },
  { scope: "write", allows: t("Change them, and approve tool calls"), usual: true },
  { scope: "chat", allows: t("Chat, upload files, stop answers"), usual: true },
  { scope: "admin", allows: t("Manage users and tool servers, read metrics"), usual: false },
];

export const lives = (): readonly { days: number | null; words: string }[] => [
  { days: 30, words: t("In 30 days") },
  { days: 90, words: t("In 90 days") },
  { days: 365, words: t("In a year") },
  { days: null, words: t("Never") },
];

const DAY_MS = 86_400_000;

export const endOf = (days: number | null, now: number = Date.now()): string | null =>
  days === null ? null : new Date(now + days * DAY_MS).toISOString();

export const MIN_PASSWORD = 10;
