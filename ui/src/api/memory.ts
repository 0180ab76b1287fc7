// What the room Memory asks of the HTTP API beside what all pages ask of memories; comes with the room.
import type {
  Aliases,
  DocumentGraphShown,
  LikelyDuplicates,
  MemoryHistory,
  MemoryProfile,
  MemoryUsageNumbers,
  MemoryUses,
  OwnNumbers,
  ReflectionPage,
  ReflectionReceipt,
} from "../contract/openapi";
import { json, withQuery } from "./client";
import type { Memory, MemoryPage, MemoryWritten } from "./types";

export type {
  AliasShown,
  DocumentGraphShown,
  KnownMonth,
  LikelyDuplicate,
  MemoryEvent,
  MemoryHistory,
  MemoryUsageNumbers,
  MemoryUses,
  MessagePlace,
  ReflectionPage,
  ReflectionProgress,
  ReflectionReceipt,
  UnansweredQuestion,
} from "../contract/openapi";

export type MemoryQuery = {
  query?: string;
  category?: string;
  state?: string;
  project?: string;
  source?: string;
  trust?: string;
  about?: string;
  pinned?: boolean;
  doubted?: boolean;
  since?: string;
  until?: string;
  as_of?: string;
  order?: "newest" | "category";
  limit?: number;
  cursor?: string | null;
};
export type BatchEdit = {
  retract?: boolean;
  pinned?: boolean;
  category?: string;
  about?: string;
  also?: string;
};

const one = (id: string) => `/memories/${encodeURIComponent(id)}`;

export const memoryApi = {
  list: (query: MemoryQuery, signal?: AbortSignal) =>
    json<MemoryPage>("GET", withQuery("/memories", query), undefined, signal),
  get: (id: string, signal?: AbortSignal) => json<Memory>("GET", one(id), undefined, signal),
  story: (id: string, signal?: AbortSignal) =>
    json<MemoryHistory>("GET", `${one(id)}/history`, undefined, signal),
  uses: (id: string, signal?: AbortSignal) =>
    json<MemoryUses>("GET", `${one(id)}/uses`, undefined, signal),
  batch: (ids: readonly string[], edit: BatchEdit) =>
    json<MemoryWritten>("POST", "/memories/batch", { ids, ...edit }),
  aliases: (signal?: AbortSignal) => json<Aliases>("GET", "/memories/aliases", undefined, signal),
  removeAlias: (id: string) => json<void>("DELETE", `/memories/aliases/${encodeURIComponent(id)}`),
  merge: (keep: string, gone: readonly string[]) =>
    json<MemoryWritten>("POST", "/memories/merge", { keep, gone }),
  duplicates: (signal?: AbortSignal) =>
    json<LikelyDuplicates>("GET", "/memories/duplicates", undefined, signal),
  usage: (signal?: AbortSignal) =>
    json<MemoryUsageNumbers>("GET", "/memories/usage", undefined, signal),
  reflections: (signal?: AbortSignal) =>
    json<ReflectionPage>("GET", "/memories/reflection", undefined, signal),
  reflect: () => json<ReflectionPage>("POST", "/memories/reflection"),
  undoReflection: (id: string) =>
    json<ReflectionReceipt>("POST", `/memories/reflection/${encodeURIComponent(id)}/undo`),
  applyReflection: (id: string) =>
    json<ReflectionReceipt>("POST", `/memories/reflection/${encodeURIComponent(id)}/apply`),
  ownNumbers: (signal?: AbortSignal) =>
    json<OwnNumbers>("GET", "/memories/statistics", undefined, signal),
  answer: (id: string, content: string) =>
    json<MemoryWritten>("POST", `/memories/questions/${encodeURIComponent(id)}/answer`, {
      content,
    }),
  dismiss: (id: string) =>
    json<unknown>("POST", `/memories/questions/${encodeURIComponent(id)}/dismiss`),
  profile: (signal?: AbortSignal) =>
    json<MemoryProfile>("GET", "/memories/profile", undefined, signal),
  graph: (signal?: AbortSignal) =>
    json<DocumentGraphShown>("GET", "/memories/graph", undefined, signal),
};
