// What is shown of an open conversation.
import type { Problem } from "../api/client";
import type { Conversation, NewConversation } from "../api/types";
import type { LinkState, Place } from "./link";
import type { Window } from "./reduce";
import type { Turn } from "./restore";
import type { SentFile } from "./uploads";

/** A message as it is sent. */
/** What is `untrusted` holds a server's prompt: it is not the owner's own word. */
export type Said = {
  text: string;
  files: readonly SentFile[];
  untrusted?: boolean | undefined;
};
/**
 * A message that waits for the present answer's end, and for files by the keys of their uploads; `files` are
 * those that are there already.
 */
export type Queued = Said & { waits: readonly number[] };
/** Why a message did not get through, what it was and where it was to stand. */
export type Unsent = { problem: Problem; said: Said; place?: Place };
export type ShownTurn = Turn & { unsent?: Unsent };
/** What the server does not have yet, as it is kept over a reload: what was not sent, and what waits behind it. */
export type Waiting = { unsent: readonly Unsent[]; queue: readonly Said[] };

export type SessionView = {
  id: string | null;
  status: "loading" | "ready" | "failed";
  problem: Problem | null;
  conversation: Conversation | null;
  turns: readonly ShownTurn[];
  /** Older messages are those before this position; null when all are shown. */
  older: number | null;
  /** Whether there are newer messages than are shown. */
  newer: boolean;
  paging: "older" | "newer" | null;
  /** The message that somebody came for, by its position. */
  target: { position: number } | null;
  /** The key of the turn whose question is being edited. */
  editing: string | null;
  running: boolean;
  stopping: boolean;
  link: LinkState | "idle";
  /** What filled the window at the last answer that was read. */
  window: Window | null;
  interrupted: string | null;
  queue: readonly Queued[];
  /** The last answer did not end well: what waits behind it does not go by itself. */
  parked: boolean;
  /** The key of the turn behind which the next message is to stand; null at the end. */
  from: string | null;
  undone: ReadonlySet<string>;
  /** What a conversation that is not made yet is to begin with. */
  begin: NewConversation;
};

export const fresh: SessionView = {
  id: null,
  status: "ready",
  problem: null,
  conversation: null,
  turns: [],
  older: null,
  newer: false,
  paging: null,
  target: null,
  editing: null,
  running: false,
  stopping: false,
  link: "idle",
  window: null,
  interrupted: null,
  queue: [],
  parked: false,
  from: null,
  undone: new Set(),
  begin: {},
};
