// Stored messages as the same `Run`s that live events make.

import type {
  Attachment,
  MessageSiblings,
  ModelMessage,
  StoredMessage,
  ToolResult,
  WaitingCall,
} from "../api/types";
import { told } from "../i18n";
import { emptyRun, newTool, type Part, type Run, type Spent, type ToolPart } from "./reduce";

/** What else was said in a message's place, on which branches, and where that is. */
export type Siblings = MessageSiblings & { position: number };

export type Question = {
  id: string;
  at: number | null;
  content: string;
  attachments: readonly Attachment[];
  siblings?: Siblings | null;
};
export type Turn = {
  key: string;
  question: Question | null;
  run: Run;
  /** Other answers to the same question. */
  answers?: Siblings | null;
  /** What it was read from; a turn that was heard live has none until it is read. */
  stored?: readonly StoredMessage[];
};

const newTurn = (message: StoredMessage, question: Question | null): Turn => ({
  key: message.id,
  question,
  stored: [],
  run: {
    ...emptyRun,
    id: message.run,
    question: question?.id ?? null,
    startedAt: question?.at ?? null,
  },
});

function callParts(message: ModelMessage): ToolPart[] {
  return message.tool_calls.map(({ id, ...said }) => ({
    ...newTool({ call: id, ...said }),
    state: "unknown",
  }));
}

function withAnswer(run: Run, message: ModelMessage): Run {
  const parts: Part[] = [...run.parts];
  if (message.reasoning) {
    parts.push({ type: "reasoning", key: `${message.id}r`, text: message.reasoning });
  }
  if (message.content) parts.push({ type: "text", key: message.id, text: message.content });
  parts.push(...callParts(message));
  const spent: Spent[] = message.usage
    ? [{ job: "answer", model: run.model ?? "", ...message.usage }]
    : [];
  return {
    ...run,
    parts,
    recalled: [...run.recalled, ...message.recalled],
    used: message.used,
    unbacked: [...run.unbacked, ...message.unbacked],
    changed: [...run.changed, ...message.changed],
    usage: [...run.usage, ...spent],
    end: message.stop_reason ?? run.end,
    failure: message.note ? { code: "", message: told(message.note) } : run.failure,
    endedAt: Date.parse(message.at),
  };
}

/** How a result tells that the owner did not want the call. */
const REJECTED = "rejected";

function withResult(run: Run, message: ToolResult): Run {
  const result: Partial<ToolPart> = {
    state: message.error ? "failed" : "done",
    text: message.content,
    error: message.error,
    durationMs: message.duration_ms,
    attachments: message.attachments,
    untrusted: message.untrusted,
    decision: message.error === REJECTED ? "reject" : null,
  };
  const parts = run.parts.map((part) =>
    part.type === "tool" && part.call === message.call ? { ...part, ...result } : part,
  );
  return { ...run, parts };
}

const siblingsOf = ({ siblings, position }: StoredMessage): Siblings | null =>
  siblings ? { ...siblings, position } : null;

/** The turns of a conversation, oldest first: each the owner's message and the run that answers it. */
export function restore(messages: readonly StoredMessage[]): Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    if (message.role === "user") {
      const { id, content, attachments } = message;
      const siblings = siblingsOf(message);
      const question = { id, at: Date.parse(message.at), content, attachments, siblings };
      turns.push({ ...newTurn(message, question), stored: [message] });
      continue;
    }
    let turn = turns.at(-1);
    const begun = turn?.stored?.some(({ role }) => role !== "user");
    if (!turn || (begun && turn.run.id && message.run && turn.run.id !== message.run)) {
      turn = newTurn(message, null);
      turns.push(turn);
    } else if (!begun && message.run) {
      // An answer that was made anew has a run of its own, and other answers in its place.
      turn.run = { ...turn.run, id: message.run };
    }
    if (!begun) turn.answers = siblingsOf(message);
    turn.stored = [...(turn.stored ?? []), message];
    if (message.role === "tool") turn.run = withResult(turn.run, message);
    else if (message.role === "assistant") turn.run = withAnswer(turn.run, message);
  }
  return turns;
}

/** Marks the calls that wait for a decision in the turns that asked for them. */
export function withWaiting(turns: Turn[], waiting: readonly WaitingCall[]): Turn[] {
  return turns.map((turn) => {
    const mine = waiting.filter((call) => call.run === turn.run.id);
    if (!mine.length) return turn;
    const parts = turn.run.parts.map((part): Part => {
      const call = part.type === "tool" && mine.find((each) => each.call === part.call);
      if (!call) return part;
      const { final } = call;
      const [reason, label] = [told(call.reason), told(call.label)];
      return { ...part, state: "waiting", reason, label, final };
    });
    return { ...turn, run: { ...turn.run, parts, end: "awaiting_approval" } };
  });
}
