// What was heard of a run, taken into the turn that it answers.
import type { Arrived } from "./link";
import { emptyRun, reduce } from "./reduce";
import type { SessionView, ShownTurn } from "./view";

type Heard = {
  turns: readonly ShownTurn[];
  /** The run that was heard. */
  run: string | null;
  /** It has just begun. */
  started: boolean;
  /** Its turn is not held: nothing of it was taken in. */
  missed: boolean;
};

/** `followed` is the run that is followed by its id; null where the last turn's own is heard. */
export function heard(
  { turns, newer }: Pick<SessionView, "turns" | "newer">,
  followed: string | null,
  arrived: readonly Arrived[],
): Heard {
  const started = arrived.some(({ event }) => event.kind === "run_started");
  const mine = followed ? turns.findLastIndex((turn) => turn.run.id === followed) : -1;
  if (followed && mine < 0 && newer) return { turns, run: followed, started, missed: true };
  const index = mine >= 0 ? mine : Math.max(0, turns.length - 1);
  const turn = turns[index] ?? { key: "live", question: null, run: emptyRun };
  const run = arrived.reduce((before, { event }) => reduce(before, event), turn.run);
  const after = turns.length ? turns.with(index, { ...turn, run }) : [{ ...turn, run }];
  return { turns: after, run: run.id, started, missed: false };
}
