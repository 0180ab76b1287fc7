// Made from contract/events.json by scripts/contract.mjs; do not edit.

/** The owner decided about a waiting call; `arguments` is what will be run. */
export type ApprovalDecided = {
  arguments: string;
  call: string;
  decision: "approve" | "edit" | "reject";
  kind: "approval_decided";
};

/** The call waits for the owner's decision; `reason` says why it is asked. */
export type ApprovalNeeded = {
  arguments: string;
  call: string;
  kind: "approval_needed";
  label: string;
  name: string;
  reason: string;
};

/** A file that belongs to a message; `url` leads to its content. */
export type Attachment = {
  media_type: string;
  name: string;
  url: string;
};

/** A fact was changed; `undo` is the token that takes it back, None where that cannot be. */
export type MemoryChanged = {
  change: "added" | "forgotten" | "merged" | "restored" | "retracted" | "superseded";
  ids: readonly string[];
  kind: "memory_changed";
  text: string;
  undo?: string | null;
};

/** Memories given to the model as data before the owner's last message. */
export type MemoryRecalled = {
  items: readonly Recalled[];
  kind: "memory_recalled";
};

/** A message of this run is complete and has an id.

    It is stored before the run changes anything, and within 50 ms. */
export type MessageSaved = {
  id: string;
  kind: "message_saved";
  role: "assistant" | "tool";
};

/** More of the model's reasoning, where it shows it. */
export type ReasoningDelta = {
  kind: "reasoning_delta";
  text: string;
};

/** One memory that was given to the model. `score` is 0..1, `at` microseconds UTC. */
export type Recalled = {
  at: number;
  id: string;
  kind: string;
  score: number;
  source?: string | null;
  text: string;
};

/** The end of the run. `message` is the id of its last assistant message, if there is one. */
export type RunDone = {
  kind: "run_done";
  message?: string | null;
  reason: "answered" | "awaiting_approval" | "cancelled" | "content_filter" | "failed" | "interrupted" | "length" | "max_cost" | "max_seconds" | "max_steps" | "max_tokens" | "max_tool_calls" | "repeated_calls";
};

/** Something ended the run early; `message` says what happened and what to do. */
export type RunFailed = {
  code: string;
  kind: "run_failed";
  message: string;
};

/** The run exists and the owner's message is stored. `at` is microseconds UTC. */
export type RunStarted = {
  at: number;
  conversation: string;
  kind: "run_started";
  message: string;
  model: string | null;
  run: string;
  schema?: number;
};

/** More of the answer. */
export type TextDelta = {
  kind: "text_delta";
  text: string;
};

/** The whole text of the present answer part: replaces what a reader has of it.

    Sent first to a reader whose last place cannot be continued from. */
export type TextSoFar = {
  kind: "text_so_far";
  reasoning?: string;
  text: string;
};

/** The call ended. `text` is what the model reads; `error` is a code, None on success. */
export type ToolFinished = {
  attachments?: readonly Attachment[];
  call: string;
  duration_ms: number;
  error?: string | null;
  kind: "tool_finished";
  name: string;
  text: string;
};

/** A running call reports; `fraction` is 0..1 where it is known. */
export type ToolProgress = {
  call: string;
  fraction?: number | null;
  kind: "tool_progress";
  text: string;
};

/** The model asked for a call. `label` says it in plain words, `arguments` is JSON text. */
export type ToolRequested = {
  arguments: string;
  call: string;
  kind: "tool_requested";
  label: string;
  name: string;
};

/** What one request to a model cost. `estimated` when the provider did not count. */
export type Usage = {
  cost_usd?: number | null;
  estimated?: boolean;
  input_tokens: number;
  job: string;
  kind: "usage";
  model: string;
  output_tokens: number;
};

/** A part works less well than it should; the run goes on. */
export type Warned = {
  kind: "warning";
  message: string;
  part: string;
};

export type ContractEvent = RunStarted | TextDelta | ReasoningDelta | TextSoFar | MemoryRecalled | ToolRequested | ApprovalNeeded | ApprovalDecided | ToolProgress | ToolFinished | MemoryChanged | Usage | Warned | MessageSaved | RunFailed | RunDone;
