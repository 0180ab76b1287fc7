import { describe, expect, test } from "vitest";
import { isOn, type Shown, shownOf } from "../../planner/shown";
import { dateOf } from "../../services/days";
import { lanes, minutesAt, pieces, spanOf } from "./layout";
import { moved, nudged, stretched, thought, withDraft } from "./moves";

const DAY = "2027-03-10";
const NEXT = "2027-03-11";

function event(id: string, begin: Date, end: Date, allDay = false): Shown {
  return shownOf({ ...thought(begin, end, allDay).event, id, title: id });
}
const at = (day: string, hours: number) => dateOf(day, hours * 60);
const timed = (id: string, from: number, to: number, day = DAY) =>
  event(id, at(day, from), at(day, to));

describe("within a day", () => {
  test("what overlaps stands side by side, what does not has all the room", () => {
    const found = pieces([timed("a", 9, 10), timed("b", 9.5, 10.5), timed("c", 11, 12)], DAY);
    expect(found.map(({ one, column, columns }) => [one.event.id, column, columns])).toEqual([
      ["a", 0, 2],
      ["b", 1, 2],
      ["c", 0, 1],
    ]);
  });

  test("a place that is free again is taken again", () => {
    const found = pieces([timed("a", 9, 12), timed("b", 9, 10), timed("c", 10, 11)], DAY);
    expect(found.map(({ one, column }) => [one.event.id, column])).toEqual([
      ["a", 0],
      ["b", 1],
      ["c", 1],
    ]);
  });

  test("what goes over midnight stands in both days", () => {
    const night = event("night", at(DAY, 22), at(NEXT, 7));
    expect(pieces([night], DAY)).toMatchObject([{ from: 22 * 60, to: 24 * 60 }]);
    expect(pieces([night], NEXT)).toMatchObject([{ from: 0, to: 7 * 60 }]);
  });

  test("what ends at midnight is not on the next day", () => {
    const late = event("late", at(DAY, 22), at(DAY, 24));
    expect(isOn(late, NEXT)).toBe(false);
    expect(pieces([late], DAY)).toMatchObject([{ to: 24 * 60 }]);
  });

  test("what takes no time can be seen, also at the end of the day", () => {
    const [piece] = pieces([event("x", dateOf(DAY, 1439), dateOf(DAY, 1439))], DAY);
    expect(piece && piece.to - piece.from).toBeGreaterThan(20);
    expect(piece?.to).toBe(1440);
  });

  test("heights are times in steps", () => {
    expect(minutesAt(0.5)).toBe(720);
    expect(minutesAt(9.1 / 24)).toBe(540);
    expect(minutesAt(-1)).toBe(0);
    expect(minutesAt(2)).toBe(1440);
  });
});

describe("over several days", () => {
  test("an event keeps its lane", () => {
    const long = event("long", at(DAY, 0), at("2027-03-13", 0), true);
    const day = event("day", at(NEXT, 0), at("2027-03-12", 0), true);
    const found = lanes([day, long], [DAY, NEXT, "2027-03-12"]);
    expect(found.map((each) => each.map((one) => one?.event.id))).toEqual([
      ["long"],
      ["long", "day"],
      ["long"],
    ]);
  });

  test("a day and more stands above the hours", () => {
    expect(event("x", at(DAY, 9), at(NEXT, 9)).isBar).toBe(true);
    expect(event("x", at(DAY, 9), at(NEXT, 8)).isBar).toBe(false);
  });
});

describe("the name of an event over several days", () => {
  const long = event("long", at(DAY, 0), at("2027-03-13", 0), true);
  const short = timed("short", 9, 10);

  test("has the room of the days on which the event shows", () => {
    expect(spanOf(long, 0, [[long], [long], [null]], 3)).toBe(3);
    expect(spanOf(long, 0, [[short], [long]], 3)).toBe(1);
  });

  test("ends where the event is one of those that are only counted", () => {
    expect(
      spanOf(
        long,
        1,
        [
          [short, long],
          [short, long, short],
        ],
        2,
      ),
    ).toBe(2);
  });
});

describe("an event that is moved", () => {
  test("lasts as long as before", () => {
    const to = moved(timed("a", 9, 10.5), 1, 30);
    expect([to.begin, to.end]).toEqual([dateOf(NEXT, 570), dateOf(NEXT, 660)]);
    const whole = moved(event("w", at(DAY, 0), at(NEXT, 0), true), 2, 999);
    expect([whole.first, whole.last]).toEqual(["2027-03-12", "2027-03-12"]);
  });

  test("cannot end before it begins", () => {
    expect(stretched(timed("a", 9, 10), 0, -300).end).toEqual(dateOf(DAY, 9 * 60 + 15));
    expect(stretched(event("w", at(DAY, 0), at(NEXT, 0), true), -5, 0).last).toBe(DAY);
  });

  test("goes by Alt and arrows", () => {
    const down = { days: 0, minutes: 15 };
    const one = timed("a", 9, 10);
    expect(nudged(one, "ArrowDown", false, down)?.begin).toEqual(dateOf(DAY, 555));
    expect(nudged(one, "ArrowUp", true, down)?.end).toEqual(dateOf(DAY, 585));
    expect(nudged(one, "ArrowLeft", false, down)?.first).toBe("2027-03-09");
    expect(nudged(one, "x", false, down)).toBeNull();
  });

  test("stands once among the others", () => {
    const one = timed("a", 9, 10);
    const to = moved(one, 1, 0);
    expect(withDraft([one, timed("b", 9, 10)], to).map(({ event: { id } }) => id)).toEqual([
      "b",
      "a",
    ]);
  });
});
