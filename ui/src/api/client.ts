// One small client of the server's HTTP API. Every failure becomes a `Problem` that a person can read.
import { t, told } from "../i18n";
import type {
  CallPage,
  Consolidation,
  Conversation,
  ConversationList,
  ConversationPatch,
  Decision,
  FileList,
  ForgetPreview,
  ForgetWanted,
  Forgotten,
  FoundMessages,
  Health,
  ImportChoice,
  ImportList,
  ImportShown,
  KeyBody,
  KeyList,
  KeyMade,
  KeyShown,
  McpServerShown,
  McpServersShown,
  Memory,
  MemoryDraft,
  MemoryHealth,
  MemoryHistory,
  MemoryImport,
  MemoryNumbers,
  MemoryPage,
  MemoryPatch,
  MemoryWritten,
  NewConversation,
  OpenConversation,
  Rule,
  Session,
  Settings,
  Summary,
  ToolList,
  UserBody,
  UserList,
  UserPatch,
  UserShown,
} from "./types";

/** What went wrong, in words: `title` says what happened, `detail` what to do. */
export class Problem extends Error {
  constructor(
    readonly code: string,
    readonly title: string,
    readonly detail: string,
    readonly status: number,
    /** What else the answer says: the conflicts of an event, for one. */
    readonly body: Record<string, unknown> = {},
  ) {
    super(detail ? `${title}. ${detail}` : title);
  }
}

export const unreachable = () =>
  new Problem(
    "unreachable",
    t("Bethink is not responding"),
    t("Check that `bethink serve` is running. Nothing that was saved is lost."),
    0,
  );

/** What an answer's status and body tell of a failure. */
export function problemIn(status: number, text: string): Problem {
  try {
    const body = JSON.parse(text);
    const code = String(body.type ?? "").replace("urn:bethink:error:", "");
    const title = told(String(body.title ?? "")) || t("The server answered {status}", { status });
    const errors: { reason?: unknown }[] = Array.isArray(body.errors) ? body.errors : [];
    const faults = errors.map((each) => ({ ...each, reason: told(String(each.reason ?? "")) }));
    const shown = errors.length ? { ...body, errors: faults } : body;
    return new Problem(code || "unknown", title, told(String(body.detail ?? "")), status, shown);
  } catch {
    return new Problem("unknown", t("The server answered {status}", { status }), "", status);
  }
}

const problemOf = async (response: Response) =>
  problemIn(response.status, await response.text().catch(() => ""));

/** Any error as a problem that can be shown. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof TypeError) return unreachable();
  const message = error instanceof Error ? error.message : String(error);
  return new Problem("unknown", t("Something went wrong"), message, 0);
}

export type ListQuery = {
  limit?: number;
  cursor?: string | null;
  archived?: boolean;
  trashed?: boolean;
  pinned?: boolean;
  needs_you?: boolean;
  project?: string;
};
type Position = number | null | undefined;
type MessagePage = { before?: Position; after?: Position; at?: Position; limit?: number };
type Query = Record<string, string | number | boolean | null | undefined>;

export function withQuery(path: string, query: Query): string {
  const given = Object.entries(query).filter(([, v]) => v !== undefined && v !== null && v !== "");
  const text = new URLSearchParams(given.map(([k, v]) => [k, String(v)])).toString();
  return text ? `${path}?${text}` : path;
}

/** A stream of the server's broke: whether the server is there is to be found out now. */
export const CONNECTION_LOST = "connection-lost";
/** The server answers again. */
export const CONNECTION_BACK = "connection-back";

/** A request whose answer, good or not, is looked at by who asks. */
export async function send(path: string, init: RequestInit): Promise<Response> {
  try {
    // The interface's pages share addresses with the API, so answers must not meet in a cache.
    const response = await fetch(path, { cache: "no-store", ...init });
    // Whatever asked: the page for signing in takes its place.
    if (response.status === 401 && path !== "/session") dispatchEvent(new Event("signed-out"));
    return response;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw unreachable();
  }
}

/** A request whose answer is good; aborts pass through, anything else is thrown as a `Problem`. */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const response = await send(path, init);
  if (!response.ok) throw await problemOf(response);
  return response;
}

/** The JSON that the server answers; anything but success is thrown as a `Problem`. */
export async function json<T>(
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
  more: Record<string, string> = {},
) {
  const headers: Record<string, string> = { accept: "application/json", ...more };
  if (body !== undefined) headers["content-type"] = "application/json";
  const init: RequestInit = { method, headers };
  if (body !== undefined) init.body = JSON.stringify(body);
  if (signal) init.signal = signal;
  const response = await request(path, init);
  return (response.status === 204 ? undefined : await response.json()) as T;
}

/** A key for a request that may be sent again: the server makes one thing of it, however often it comes. */
export const newKey = (): string => crypto.getRandomValues(new Uint32Array(4)).join("-");

/** Has something made, once for each key. */
export const make = <T>(path: string, body: unknown, key = newKey()): Promise<T> =>
  json<T>("POST", path, body, undefined, { "Idempotency-Key": key });

const at = encodeURIComponent;

/** A server that does not say how it is in so long is not there, whatever holds its connections. */
const HEALTH_MS = 5000;

/** Health is told even by a server whose store cannot be read, then with the status 503. */
async function readHealth(): Promise<Health> {
  const signal = AbortSignal.timeout(HEALTH_MS);
  const init = { headers: { accept: "application/json" }, signal };
  const response = await send("/health", init);
  if (!response.ok && response.status !== 503) throw await problemOf(response);
  return (await response.json()) as Health;
}

export const api = {
  health: readHealth,
  session: () => json<Session>("GET", "/session"),
  signIn: (shown: { key: string } | { name: string; password: string }) =>
    json<Session>("POST", "/session", shown),
  signOut: () => json<void>("DELETE", "/session"),
  keys: (signal?: AbortSignal) => json<KeyList>("GET", "/keys", undefined, signal),
  makeKey: (body: KeyBody) => json<KeyMade>("POST", "/keys", body),
  revokeKey: (key: string) => json<KeyShown>("DELETE", `/keys/${at(key)}`),
  users: (signal?: AbortSignal) => json<UserList>("GET", "/users", undefined, signal),
  addUser: (body: UserBody) => json<UserShown>("POST", "/users", body),
  changeUser: (user: string, patch: UserPatch) =>
    json<UserShown>("PATCH", `/users/${at(user)}`, patch),
  settings: () => json<Settings>("GET", "/settings?brief=true"),

  conversations: (query: ListQuery) =>
    json<ConversationList>("GET", withQuery("/conversations", query)),
  /** Its newest messages, or those before, behind or around a position. */
  conversation: (id: string, page: MessagePage = {}) =>
    json<OpenConversation>("GET", withQuery(`/conversations/${at(id)}`, { limit: 50, ...page })),
  /** What its model is told of its earlier part; not found where it is told all of it. */
  summary: (id: string, signal?: AbortSignal) =>
    json<Summary>("GET", `/conversations/${at(id)}/summary`, undefined, signal),
  createConversation: (begin: NewConversation) =>
    json<Conversation>("POST", "/conversations", begin),
  patchConversation: (id: string, patch: ConversationPatch) =>
    json<Conversation>("PATCH", `/conversations/${at(id)}`, patch),
  deleteConversation: (id: string) => json<void>("DELETE", `/conversations/${at(id)}`),

  files: (conversation: string) =>
    json<FileList>("GET", `/conversations/${at(conversation)}/files`),

  tools: (signal?: AbortSignal) => json<ToolList>("GET", "/tools", undefined, signal),
  searchMessages: (
    query: { query: string; limit: number; cursor?: string | null },
    signal?: AbortSignal,
  ) => json<FoundMessages>("GET", withQuery("/conversations/search", query), undefined, signal),
  exportOf: (id: string, format: "md" | "json") =>
    withQuery(`/conversations/${at(id)}/export`, { format }),
  setRule: (tool: string, rule: Rule) => json<void>("PUT", `/tools/${at(tool)}/rule`, { rule }),
  toolCalls: (query: { tool?: string; cursor?: string | null }, signal?: AbortSignal) =>
    json<CallPage>("GET", withQuery("/tools/calls", { limit: 50, ...query }), undefined, signal),

  servers: (signal?: AbortSignal) =>
    json<McpServersShown>("GET", "/mcp-servers", undefined, signal),
  reconnectServer: (name: string) =>
    json<McpServerShown>("POST", `/mcp-servers/${at(name)}/reconnect`),
  acceptServer: (name: string, digest: string | null) =>
    json<McpServerShown>("POST", `/mcp-servers/${at(name)}/accept`, { digest }),
  signInToServer: (name: string) => json<McpServerShown>("POST", `/mcp-servers/${at(name)}/login`),

  cancelRun: (run: string) => json<void>("POST", `/runs/${at(run)}/cancel`),
  decide: (run: string, call: string, decision: Decision) =>
    json<{ run: string }>("POST", `/runs/${at(run)}/approvals/${at(call)}`, decision),

  memories: (
    query: {
      limit?: number;
      cursor?: string | null;
      category?: string;
      state?: string;
      query?: string;
    },
    signal?: AbortSignal,
  ) => json<MemoryPage>("GET", withQuery("/memories", query), undefined, signal),
  memory: (id: string, signal?: AbortSignal) =>
    json<Memory>("GET", `/memories/${at(id)}`, undefined, signal),
  memoryHistory: (id: string) => json<MemoryHistory>("GET", `/memories/${at(id)}/history`),
  acceptMemory: (id: string) => json<MemoryWritten>("POST", `/memories/${at(id)}/accept`),
  rejectMemory: (id: string) => json<MemoryWritten>("POST", `/memories/${at(id)}/reject`),
  memoryHealth: (signal?: AbortSignal) =>
    json<MemoryHealth>("GET", "/memories/health", undefined, signal),
  memoryNumbers: (signal?: AbortSignal) =>
    json<MemoryNumbers>("GET", "/memories/stats", undefined, signal),
  consolidate: (preview: boolean) =>
    json<Consolidation>("POST", "/memories/consolidate", { preview }),
  exportAddress: (query: { format: "jsonl" | "md" | "csv"; conversations?: boolean }) =>
    withQuery("/memories/export", query),
  importMemories: async (file: File, preview: boolean) => {
    const response = await request(withQuery("/memories/import", { preview }), {
      method: "POST",
      headers: { accept: "application/json", "content-type": "application/octet-stream" },
      body: file,
    });
    return (await response.json()) as MemoryImport;
  },
  imports: (signal?: AbortSignal) => json<ImportList>("GET", "/import", undefined, signal),
  applyImport: (id: string, choice: ImportChoice) =>
    json<ImportShown>("POST", `/import/${at(id)}/apply`, choice),
  undoImport: (id: string) => json<ImportShown>("POST", `/import/${at(id)}/undo`),
  discardImport: (id: string) => json<void>("DELETE", `/import/${at(id)}`),
  addMemory: (draft: MemoryDraft) => json<MemoryWritten>("POST", "/memories", draft),
  patchMemory: (id: string, patch: MemoryPatch) =>
    json<MemoryWritten>("PATCH", `/memories/${at(id)}`, patch),
  retractMemory: (id: string) => json<MemoryWritten>("DELETE", `/memories/${at(id)}`),
  forgetPreview: (wanted: ForgetWanted) => json<ForgetPreview>("POST", "/memories/forget", wanted),
  forget: (wanted: ForgetWanted, confirm: string) =>
    json<Forgotten>("POST", "/memories/forget", { ...wanted, confirm }),
  // A page's token says so itself: the vault takes those back.
  undo: (token: string) =>
    json<MemoryWritten>("POST", token.startsWith("page:") ? "/vault/undo" : "/memories/undo", {
      token,
    }),
};
