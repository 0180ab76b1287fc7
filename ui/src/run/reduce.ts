// What a reader knows of a run, made from its events. Live streams, replays after a reload and stored
// messages all end in the same `Run`, so that every part of the interface draws one thing.

import type {
  ApprovalNeeded,
  Attachment,
  ContractEvent,
  Decision,
  RunStarted,
  StopReason,
  ToolFinished,
} from "../api/types";
import type {
  ClaimUnbacked,
  Mark,
  MemoryChanged,
  QuestionAnswered,
  QuestionAsked,
  Recalled,
  Usage,
  WindowFilled,
} from "../contract/openapi";
import { t, told } from "../i18n";

/** `unknown` is a call that was started and whose outcome nobody saw. */
export type ToolState = "running" | "waiting" | "done" | "failed" | "unknown";

export type ToolPart = {
  type: "tool";
  key: string;
  call: string;
  name: string;
  label: string;
  arguments: string;
  state: ToolState;
  text: string;
  error: string | null;
  durationMs: number | null;
  progress: string | null;
  fraction: number | null;
  reason: string | null;
  decision: Decision["decision"] | null;
  /** What was decided holds for the tool from now on. */
  always: boolean;
  /** It cannot be undone, so it asks each time. */
  final: boolean;
  /** What it brought is not the owner's own. */
  untrusted: boolean;
  attachments: readonly Attachment[];
  /** What it asks now, and waits for. */
  questions: readonly QuestionAsked[];
};

export type Part =
  | ToolPart
  | { type: "text"; key: string; text: string }
  | { type: "reasoning"; key: string; text: string }
  | { type: "warning"; key: string; about: string; message: string }
  | { type: "unknown"; key: string; event: unknown };

export type RecalledItem = Pick<Recalled, "id" | "kind" | "score"> & Partial<Recalled>;
/** A stored answer does not repeat the text of what it changed. */
export type Change = Pick<MemoryChanged, "ids" | "undo"> & { change: string; text?: string };
/** A sentence of the answer that says something was done, which no tool call did. */
export type Unbacked = Omit<ClaimUnbacked, "kind">;
export type Window = WindowFilled;
export type Spent = Omit<Usage, "kind">;

export type Run = {
  id: string | null;
  conversation: string | null;
  /** The id of the owner's message that it answers. */
  question: string | null;
  model: string | null;
  /** Milliseconds since 1970. */
  startedAt: number | null;
  endedAt: number | null;
  parts: readonly Part[];
  recalled: readonly RecalledItem[];
  /** Where the last text leans on memories. */
  used: readonly Mark[];
  unbacked: readonly Unbacked[];
  changed: readonly Change[];
  usage: readonly Spent[];
  /** What filled the model's window, in tokens; null where it was not heard. */
  window: Window | null;
  failure: { code: string; message: string } | null;
  end: StopReason | null;
};

export const emptyRun: Run = {
  id: null,
  conversation: null,
  question: null,
  model: null,
  startedAt: null,
  endedAt: null,
  parts: [],
  recalled: [],
  used: [],
  unbacked: [],
  changed: [],
  usage: [],
  window: null,
  failure: null,
  end: null,
};

/** How long the answer took, in milliseconds; null where nobody knows: it runs, was imported, or was cut off by a stop of the server. */
export function tookMs({ startedAt, endedAt, end }: Run): number | null {
  const isKnown = end !== null && end !== "interrupted";
  return isKnown && startedAt && endedAt ? endedAt - startedAt : null;
}

const partKey = (run: Run) => `p${run.parts.length}`;
const add = (run: Run, part: Part): Run => ({ ...run, parts: [...run.parts, part] });
const replace = (run: Run, index: number, part: Part): Run => ({
  ...run,
  parts: run.parts.with(index, part),
});

function extend(run: Run, type: "text" | "reasoning", text: string): Run {
  const last = run.parts.at(-1);
  if (last?.type === type) {
    return replace(run, run.parts.length - 1, { ...last, text: last.text + text });
  }
  return text ? add(run, { type, key: partKey(run), text }) : run;
}

/** Sets the whole text of the answer part that is being written: the one after the last tool call. */
function setText(run: Run, type: "text" | "reasoning", text: string): Run {
  const start = run.parts.findLastIndex((part) => part.type === "tool") + 1;
  const index = run.parts.findLastIndex((part, i) => i >= start && part.type === type);
  if (index < 0) return text ? add(run, { type, key: partKey(run), text }) : run;
  return replace(run, index, { type, key: run.parts[index]?.key ?? partKey(run), text });
}

/** Sets both; what was told as the one may prove to be the other: then it changes where it stands. */
function setWhole(run: Run, text: string, reasoning: string): Run {
  const start = run.parts.findLastIndex((part) => part.type === "tool") + 1;
  const alone = run.parts.length - start === 1 ? run.parts[start] : undefined;
  const type = text ? "text" : "reasoning";
  if (alone && (alone.type === "text" || alone.type === "reasoning") && !(text && reasoning)) {
    return replace(run, start, { type, key: alone.key, text: text || reasoning });
  }
  return setText(setText(run, "reasoning", reasoning), "text", text);
}

type Called = { call: string; name?: string; arguments?: string; label?: string };

/** A call of which nothing is known but what was asked for. It is shown as the same, heard live or read. */
export function newTool(called: Called): ToolPart {
  return {
    type: "tool",
    key: called.call,
    call: called.call,
    name: called.name ?? "",
    label: told(called.label ?? "") || called.name || t("A tool"),
    arguments: called.arguments ?? "",
    state: "running",
    text: "",
    error: null,
    durationMs: null,
    progress: null,
    fraction: null,
    reason: null,
    decision: null,
    always: false,
    final: false,
    untrusted: false,
    attachments: [],
    questions: [],
  };
}

/** Changes the part of a call, which is made when an earlier event of it was missed. */
function changeTool(run: Run, called: Called, change: Partial<ToolPart>): Run {
  const index = run.parts.findLastIndex((p) => p.type === "tool" && p.call === called.call);
  const found = run.parts[index];
  if (found?.type !== "tool") return add(run, { ...newTool(called), ...change });
  return replace(run, index, { ...found, ...change });
}

function start(event: RunStarted): Run {
  return {
    ...emptyRun,
    id: event.run,
    conversation: event.conversation,
    question: event.message,
    model: event.model,
    startedAt: event.at / 1000,
  };
}

function finishTool(run: Run, event: ToolFinished): Run {
  return changeTool(run, event, {
    state: event.error ? "failed" : "done",
    text: event.text,
    error: event.error ?? null,
    durationMs: event.duration_ms,
    progress: null,
    fraction: null,
    questions: [],
    attachments: event.attachments ?? [],
    untrusted: event.untrusted ?? false,
  });
}

function waitFor(run: Run, event: ApprovalNeeded): Run {
  const { final = false } = event;
  const [reason, label] = [told(event.reason), told(event.label)];
  return changeTool(run, event, { state: "waiting", reason, label, final });
}

/** A question is there as long as it waits. */
function question(run: Run, event: QuestionAsked | QuestionAnswered): Run {
  const part = run.parts.findLast((one) => one.type === "tool" && one.call === event.call);
  const held = part?.type === "tool" ? part.questions : [];
  const others = held.filter((one) => one.question !== event.question);
  return changeTool(run, event, {
    questions: event.kind === "question_asked" ? [...others, event] : others,
  });
}

function finish(run: Run, reason: StopReason, now: number): Run {
  const settled = reason === "awaiting_approval" ? "waiting" : "unknown";
  const parts = run.parts.map((part) =>
    part.type === "tool" && part.state === "running"
      ? { ...part, state: settled as ToolState, questions: [] }
      : part,
  );
  return { ...run, parts, end: reason, endedAt: now };
}

/** A run that had stopped for a decision goes on. */
function reopen(run: Run): Run {
  return run.end === "awaiting_approval" ? { ...run, end: null, endedAt: null } : run;
}

/** A warning is said once in an answer. */
function warn(run: Run, about: string, message: string): Run {
  const known = run.parts.some((part) => part.type === "warning" && part.message === message);
  return known ? run : add(run, { type: "warning", key: partKey(run), about, message });
}

function mergeRecalled(known: readonly RecalledItem[], items: readonly RecalledItem[]) {
  const fresh = new Map([...known, ...items].map((item) => [`${item.kind} ${item.id}`, item]));
  return [...fresh.values()].sort((a, b) => b.score - a.score);
}

/** The run after one more event. `now` (ms) is taken for the end, which carries no time of its own. */
export function reduce(before: Run, event: ContractEvent, now: number = Date.now()): Run {
  const run = event.kind === "run_done" ? before : reopen(before);
  switch (event.kind) {
    case "run_started":
      return start(event);
    case "text_delta":
      return extend(run, "text", event.text);
    case "reasoning_delta":
      return extend(run, "reasoning", event.text);
    case "text_so_far":
      return setWhole(run, event.text, event.reasoning ?? "");
    case "memory_recalled":
      return { ...run, recalled: mergeRecalled(run.recalled, event.items) };
    case "tool_requested":
      return changeTool(run, event, { label: told(event.label), arguments: event.arguments });
    case "approval_needed":
      return waitFor(run, event);
    case "approval_decided": {
      const decided = { decision: event.decision, arguments: event.arguments };
      return changeTool(run, event, { ...decided, state: "running" });
    }
    case "question_asked":
    case "question_answered":
      return question(run, event);
    case "tool_progress":
      return changeTool(run, event, { progress: event.text, fraction: event.fraction ?? null });
    case "tool_finished":
      return finishTool(run, event);
    case "memory_changed": {
      const { kind: _, ...change } = event;
      return { ...run, changed: [...run.changed, change] };
    }
    case "memory_used":
      return { ...run, used: event.marks };
    case "claim_unbacked": {
      const { kind: _, ...claim } = event;
      return { ...run, unbacked: [...run.unbacked, claim] };
    }
    case "context_filled": {
      const { kind: _, ...window } = event;
      return { ...run, window };
    }
    case "usage": {
      const { kind: _, ...spent } = event;
      return { ...run, usage: [...run.usage, spent] };
    }
    case "warning":
      return warn(run, event.part, told(event.message));
    case "message_saved":
      return run;
    case "run_failed":
      return { ...run, failure: { code: event.code, message: told(event.message) } };
    case "run_done":
      return finish(run, event.reason, now);
    default: {
      // The types say that this cannot be; a newer server says otherwise.
      const unknown: unknown = event satisfies never;
      return add(run, { type: "unknown", key: partKey(run), event: unknown });
    }
  }
}
