// The shapes of the REST resources. Times are ISO 8601 in UTC; `cursor` leads to the next page.
import type { Attachment, MemoryChanged, Recalled, RunDone } from "../contract/events";

export type StopReason = RunDone["reason"];

export type Page<T> = { items: readonly T[]; cursor: string | null };

export type Conversation = {
  id: string;
  title: string | null;
  created_at: string;
  updated_at: string;
  message_count: number;
  archived: boolean;
  project: string | null;
  active_run: string | null;
};

export type StoredCall = { id: string; name: string; arguments: string; label: string };
export type MessageUsage = {
  input_tokens: number;
  output_tokens: number;
  cost_usd: number | null;
  estimated: boolean;
};

export type StoredMessage = {
  id: string;
  at: string;
  run: string | null;
  role: "user" | "assistant" | "tool";
  content: string;
  attachments?: readonly Attachment[];
  tool_calls?: readonly StoredCall[];
  reasoning?: string;
  call?: string;
  name?: string;
  error?: string | null;
  duration_ms?: number;
  stop_reason?: StopReason | null;
  recalled?: readonly (Pick<Recalled, "id" | "kind" | "score"> & Partial<Recalled>)[];
  /** What went wrong, for a person. */
  note?: string | null;
  changed?: readonly (Omit<MemoryChanged, "kind" | "text"> & { text?: string })[];
  usage?: MessageUsage | null;
};

export type WaitingCall = StoredCall & { call: string; run: string; reason: string };

export type ConversationPage = Conversation & {
  messages: readonly StoredMessage[];
  cursor: string | null;
  interrupted: { run: string; at: string; message: string } | null;
  waiting: readonly Omit<WaitingCall, "id">[];
};

export type MemorySource = { kind: string; id: string | null; message?: string | null };

export type Memory = {
  id: string;
  content: string;
  category: string | null;
  importance: number;
  topics: readonly string[];
  created_at: string;
  valid_from: string | null;
  valid_until: string | null;
  state: "active" | "superseded" | "retracted";
  pinned: boolean;
  sources: readonly MemorySource[];
  supersedes: readonly string[];
  superseded_by: string | null;
  score?: number;
};

export type MemoryPage = Page<Memory> & { total: number };
export type MemoryDraft = {
  content: string;
  category?: string;
  importance?: number;
  topics?: readonly string[];
  pinned?: boolean;
};
export type MemoryWritten = {
  memory: Memory;
  change: MemoryChanged["change"];
  undo: string | null;
};

export type PartHealth = {
  status: "ok" | "off" | "loading" | "degraded";
  message: string | null;
};
export type Health = {
  status: "ok" | "degraded";
  version: string;
  parts: Readonly<Record<string, PartHealth>>;
};

export type Settings = {
  model: string | null;
  model_help: string;
  fallbacks: readonly string[];
  data_dir: string;
  version: string;
  time_zone: string;
  recall_limit: number;
  bounds: Readonly<Record<string, number | null>>;
};
