import { describe, expect, test } from "vitest";
import {
  addDays,
  addMonths,
  dateOf,
  dayOf,
  daysBetween,
  firstWeekday,
  isDay,
  rfc3339,
  shifted,
  weekOf,
  weeksOfMonth,
} from "./days";

describe("days", () => {
  test("go on over months, years and leap days", () => {
    expect(addDays("2027-12-31", 1)).toBe("2028-01-01");
    expect(addDays("2028-02-28", 1)).toBe("2028-02-29");
    expect(addDays("2028-03-01", -1)).toBe("2028-02-29");
    expect(daysBetween("2027-03-27", "2027-03-29")).toBe(2);
  });

  test("of a month that is shorter are its last", () => {
    expect(addMonths("2027-01-31", 1)).toBe("2027-02-28");
    expect(addMonths("2028-01-31", 1)).toBe("2028-02-29");
    expect(addMonths("2027-03-31", -1)).toBe("2027-02-28");
  });

  test("are read as they are written, and nothing else is one", () => {
    expect(dayOf(dateOf("2027-03-28", 10 * 60))).toBe("2027-03-28");
    expect(isDay("2027-02-29")).toBe(false);
    expect(isDay("2028-02-29")).toBe(true);
    expect(isDay("2027-2-9")).toBe(false);
  });

  test("keep the clock's time over a change of the clock", () => {
    const at = dateOf("2027-03-27", 10 * 60);
    const next = shifted(at, 1, 0);
    expect([next.getHours(), next.getMinutes(), dayOf(next)]).toEqual([10, 0, "2027-03-28"]);
    expect(dayOf(shifted(at, 0, 15 * 60))).toBe("2027-03-28");
    expect(dayOf(shifted(at, 0, -11 * 60))).toBe("2027-03-26");
  });

  test("are told with the offset that they have", () => {
    const at = dateOf("2027-07-01", 9 * 60);
    expect(rfc3339(at)).toMatch(/^2027-07-01T09:00:00[+-]\d\d:\d\d$/);
    expect(Date.parse(rfc3339(at))).toBe(at.getTime());
  });
});

describe("weeks", () => {
  test("begin as the language has it", () => {
    expect(firstWeekday("en-US")).toBe(0);
    expect(firstWeekday("de-DE")).toBe(1);
    expect(weekOf("2027-03-10", 1)[0]).toBe("2027-03-08");
    expect(weekOf("2027-03-10", 0)[0]).toBe("2027-03-07");
    expect(weekOf("2027-03-07", 0)[0]).toBe("2027-03-07");
  });

  test("of a month are whole, as many as it needs", () => {
    const weeks = weeksOfMonth("2027-02-10", 1);
    expect(weeks).toHaveLength(4);
    expect(weeks[0]?.[0]).toBe("2027-02-01");
    expect(weeksOfMonth("2026-08-01", 1)).toHaveLength(6);
    expect(weeksOfMonth("2026-08-01", 1).flat()).toContain("2026-08-31");
  });
});
