import { describe, expect, test } from "vitest";
import { choicesFor, type Plain, repeatOf, ruleOf } from "./repeats";

const WEDNESDAY = "2027-03-10";

describe("rules", () => {
  test("of every plain choice are read as that choice again", () => {
    for (const { value } of choicesFor(WEDNESDAY)) {
      const repeat = { ...repeatOf(null, WEDNESDAY), every: value as Plain };
      expect(repeatOf(ruleOf(repeat, WEDNESDAY) || null, WEDNESDAY).every).toBe(value);
    }
  });

  test("end on a day, or after so many times", () => {
    const until = {
      ...repeatOf("FREQ=DAILY", WEDNESDAY),
      ends: "until",
      until: "2027-04-01",
    } as const;
    expect(ruleOf(until, WEDNESDAY)).toBe("FREQ=DAILY;UNTIL=20270401");
    expect(repeatOf("FREQ=DAILY;UNTIL=20270401T235959", WEDNESDAY)).toMatchObject({
      every: "daily",
      ends: "until",
      until: "2027-04-01",
    });
    expect(repeatOf("FREQ=WEEKLY;COUNT=5", WEDNESDAY)).toMatchObject({
      every: "weekly",
      ends: "count",
      count: 5,
    });
  });

  test("that are no plain choice stay as they are written", () => {
    const rule = "FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=-1";
    expect(repeatOf(rule, WEDNESDAY).every).toBe("own");
    expect(ruleOf(repeatOf(rule, WEDNESDAY), WEDNESDAY)).toBe(rule);
    // On another weekday than it begins on, it is no plain choice either.
    expect(repeatOf("FREQ=WEEKLY;BYDAY=FR", WEDNESDAY).every).toBe("own");
  });

  test("name the weekday, also the last of its month", () => {
    const labels = (day: string) => choicesFor(day).map(({ label }) => label);
    expect(labels(WEDNESDAY)).toContain("Every second Wednesday of the month");
    expect(labels("2027-03-31")).toContain("Every last Wednesday of the month");
  });
});
