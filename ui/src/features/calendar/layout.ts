// Where events stand on the calendar. Pure: from events to days, lanes and columns.
import { byTime, isOn, type Shown } from "../../planner/shown";
import { type Day, dayOf, MINUTES_OF_DAY, minutesOf } from "../../services/days";

/** For each of these days which event stands in which lane: one over several days keeps its lane. */
export function lanes(all: readonly Shown[], days: readonly Day[]): readonly (Shown | null)[][] {
  const byDay = new Map<Day, (Shown | null)[]>(days.map((day) => [day, []]));
  for (const one of all.toSorted(byTime)) {
    const touched = days.filter((day) => isOn(one, day)).map((day) => byDay.get(day) ?? []);
    if (!touched.length) continue;
    let lane = 0;
    while (touched.some((taken) => taken[lane])) lane += 1;
    for (const taken of touched) {
      while (taken.length <= lane) taken.push(null);
      taken[lane] = one;
    }
  }
  return days.map((day) => byDay.get(day) ?? []);
}

/** How many of the first lanes show: the last one that there is room for says how many more there are. */
export const visibleOf = (all: readonly unknown[], room: number): number =>
  all.length <= room ? all.length : Math.max(0, room - 1);

/** Over how many days an event shows from one on, in the lanes of the days after that one. */
export function spanOf(
  one: Shown,
  lane: number,
  after: readonly (readonly (Shown | null)[])[],
  room: number,
): number {
  const ends = after.findIndex((each) => each[lane] !== one || lane >= visibleOf(each, room));
  return 1 + (ends < 0 ? after.length : ends);
}

/** A part of an event within a day, in minutes of the clock, beside others that overlap it. */
export type Piece = { one: Shown; from: number; to: number; column: number; columns: number };

/** Shorter ones are drawn as long, so that their name can be read; they take that room from others too. */
export const LEAST_MINUTES = 25;

function pieceOn(one: Shown, day: Day): Piece {
  const from = one.first < day ? 0 : minutesOf(one.begin);
  const until = one.last > day || dayOf(one.end) > day ? MINUTES_OF_DAY : minutesOf(one.end);
  const top = Math.min(from, MINUTES_OF_DAY - LEAST_MINUTES);
  return { one, from: top, to: Math.max(until, top + LEAST_MINUTES), column: 0, columns: 1 };
}

/** What stands in the hours of a day; what overlaps stands side by side. */
export function pieces(all: readonly Shown[], day: Day): readonly Piece[] {
  const here = all
    .filter((one) => !one.isBar && isOn(one, day))
    .map((one) => pieceOn(one, day))
    .sort((a, b) => a.from - b.from || b.to - a.to);
  let group: Piece[] = [];
  let until = -1;
  const settle = () => {
    const columns = Math.max(0, ...group.map(({ column }) => column)) + 1;
    for (const piece of group) piece.columns = columns;
    group = [];
  };
  for (const piece of here) {
    if (piece.from >= until) settle();
    const taken = new Set(group.filter(({ to }) => to > piece.from).map(({ column }) => column));
    while (taken.has(piece.column)) piece.column += 1;
    group.push(piece);
    until = Math.max(until, piece.to);
  }
  settle();
  return here;
}

export const STEP_MINUTES = 15;

/** Minutes at a height within the hours, in steps. */
export function minutesAt(fraction: number, step = STEP_MINUTES): number {
  const minutes = Math.round((fraction * MINUTES_OF_DAY) / step) * step;
  return Math.min(MINUTES_OF_DAY, Math.max(0, minutes));
}
