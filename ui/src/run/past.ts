// The part of a conversation's past that is held. Of a long one that is a stretch of pages: turns are
// added at either end while somebody reads there, and let go of at the other.
import type { StoredMessage, WaitingCall } from "../api/types";
import type { Part, Run, ToolPart } from "./reduce";
import { restore, type Turn } from "./restore";
import type { ShownTurn } from "./view";

/** Turns that are held at most, but for those of one more page: a page of text is about ten. */
export const HELD = 160;

/** The position of a turn's first message; null for one that was not read from the server yet. */
export const startOf = (turn: Turn | undefined): number | null =>
  turn?.stored?.[0]?.position ?? null;

/** The position of a turn's last message. */
export const endOf = (turn: Turn | undefined): number | null =>
  turn?.stored?.at(-1)?.position ?? null;

/** Where older messages are asked for: before this position; null where there are none. */
export const olderThan = (turns: readonly Turn[]): number | null => startOf(turns[0]) || null;

/** The turns with a page put before them; one that the page's edge had cut is made whole. */
export function withOlder(page: readonly StoredMessage[], turns: readonly Turn[]): Turn[] {
  const [first, ...rest] = turns;
  const cut = first && !first.question && first.stored;
  return cut ? [...restore([...page, ...cut]), ...rest] : [...restore(page), ...turns];
}

/** The turns with a page put behind them. */
export function withNewer(turns: readonly Turn[], page: readonly StoredMessage[]): Turn[] {
  const last = turns.at(-1);
  if (!last?.stored) return [...turns, ...restore(page)];
  const [whole, ...more] = restore([...last.stored, ...page]);
  return whole ? [...turns.slice(0, -1), { ...whole, key: last.key }, ...more] : [...turns];
}

/** Whether one of the turns holds the message at this position. */
export const holds = (turn: Turn, position: number): boolean =>
  (startOf(turn) ?? Number.POSITIVE_INFINITY) <= position && position <= (endOf(turn) ?? -1);

/** The id of the owner's message, once the server has it. */
export function messageOf({ question, run }: Turn): string | null {
  return question && !question.id.startsWith(LOCAL) ? question.id : run.question;
}

/** How the ids of messages begin that the server has not named yet. */
export const LOCAL = "local-";

const isSame = (known: Turn, fresh: Turn) =>
  known.stored?.[0]
    ? known.stored[0].id === fresh.stored?.[0]?.id
    : fresh.question !== null && messageOf(known) === fresh.question.id;

/**
 * Turns as they were read, under the keys by which they are shown already. What was heard of an answer
 * that has ended, or that is still `waiting`, is kept: it tells more than what is stored.
 */
export function recognised(
  fresh: readonly Turn[],
  known: readonly Turn[],
  waiting: readonly Pick<WaitingCall, "run">[] = [],
): Turn[] {
  const waits = (run: string | null) => waiting.some((call) => call.run === run);
  return fresh.map((turn) => {
    const mine = known.find((each) => isSame(each, turn));
    if (!mine) return turn;
    const { id, end } = mine.run;
    const ended = end === "awaiting_approval" ? waits(id) : end !== null;
    if (id !== turn.run.id) return { ...turn, key: mine.key };
    const run = ended ? withLearnt(mine.run, turn.run) : withDecided(mine.run, turn.run);
    return { ...turn, key: mine.key, run };
  });
}

/** What is stored of an answer, with what was decided here about its calls: of that less is stored. */
function withDecided(here: Run, stored: Run): Run {
  const calls = here.parts.filter((part): part is ToolPart => part.type === "tool");
  const parts = stored.parts.map((part): Part => {
    if (part.type !== "tool") return part;
    const mine = calls.find(({ call, decision }) => call === part.call && decision);
    return mine ? { ...part, decision: mine.decision, always: mine.always } : part;
  });
  return { ...stored, parts };
}

/** What was heard of an answer, with what was learnt from its turn since. */
function withLearnt(heard: Run, stored: Run): Run {
  const known = new Set(heard.changed.flatMap(({ ids }) => ids));
  const learnt = stored.changed.filter(({ ids }) => ids.some((id) => !known.has(id)));
  return learnt.length ? { ...heard, changed: [...heard.changed, ...learnt] } : heard;
}

/** The turns as they were read where they are known, and behind them those that are not. */
export function withLater(turns: readonly ShownTurn[], read: readonly Turn[]): ShownTurn[] {
  const byKey = new Map(read.map((turn) => [turn.key, turn]));
  const known = turns.map((turn) => byKey.get(turn.key) ?? turn);
  const keys = new Set(turns.map(({ key }) => key));
  const end = Math.max(-1, ...known.map((turn) => endOf(turn) ?? -1));
  return [...known, ...read.filter((turn) => !keys.has(turn.key) && (startOf(turn) ?? 0) > end)];
}
