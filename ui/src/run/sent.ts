// What is sent: a message with its files and its place, or none where an answer is made anew.
import type { Conversation, Decision, OpenConversation } from "../api/types";
import type { Opening, Place } from "./link";
import type { Part, Run } from "./reduce";
import type { Question } from "./restore";
import type { SentFile } from "./uploads";
import type { Said, ShownTurn } from "./view";

/** `said` is null where an answer is made anew. */
export type Sent = { conversation: string; said: Said | null; place?: Place | undefined };
export type Following = Extract<Opening, { run: string }> | Sent;

export const asOpening = ({ conversation, said, place }: Sent): Opening => ({
  conversation,
  said: said && {
    text: said.text,
    files: said.files.map(({ id }) => id),
    untrusted: said.untrusted,
  },
  place,
});

/** Files of a message as another message takes them along. */
export const filesOf = ({ attachments }: Question): SentFile[] =>
  attachments.map((file) => ({ ...file, id: file.url.slice(file.url.lastIndexOf("/") + 1) }));

/** What of an open conversation belongs to the conversation itself. */
export function recordOf(open: OpenConversation): Conversation {
  const { messages, cursor, interrupted, waiting, window, ...conversation } = open;
  return conversation;
}

/** A call that was heard of or read meanwhile keeps its state: only what was decided is added. */
const withDecision = (run: Run, call: string, { decision, always = false }: Decision): Run => ({
  ...run,
  parts: run.parts.map((part): Part => {
    if (part.type !== "tool" || part.call !== call) return part;
    const state = part.state === "waiting" ? "running" : part.state;
    return { ...part, state, decision, always };
  }),
});

/** The turns after a decision about a call that waited, and whether more of its run's calls wait. */
export function decided(
  turns: readonly ShownTurn[],
  run: string,
  call: string,
  decision: Decision,
) {
  const isOf = (turn: ShownTurn) => turn.run.id === run;
  const after = turns.map((turn) =>
    isOf(turn) ? { ...turn, run: withDecision(turn.run, call, decision) } : turn,
  );
  const waits = after.some(
    (turn) =>
      isOf(turn) && turn.run.parts.some((part) => part.type === "tool" && part.state === "waiting"),
  );
  return { turns: after, waits };
}

/** The id of a turn's last message, behind which something else can be said; null until it was read. */
export const endingOf = (turn: ShownTurn | undefined): string | null =>
  turn?.stored?.at(-1)?.id ?? null;
