import { describe, expect, test } from "vitest";
import { browserZone, dateOf } from "../../services/days";
import { attendeesIn, changedIn, draftOf, faultIn, formOf, startsAt } from "./eventForm";
import { thought } from "./moves";

const DAY = "2027-03-10";
const form = () => ({
  ...formOf(thought(dateOf(DAY, 540), dateOf(DAY, 600), false)),
  title: "Review",
});

describe("the form of an event", () => {
  test("sends times by the clock of its zone", () => {
    expect(draftOf(form())).toMatchObject({
      start: `${DAY}T09:00:00`,
      end: `${DAY}T10:00:00`,
      zone: browserZone(),
    });
  });

  test("sends whole days with an end that is not part of it", () => {
    expect(draftOf({ ...form(), allDay: true })).toMatchObject({ start: DAY, end: "2027-03-11" });
  });

  test("moves its end along with its beginning", () => {
    expect(startsAt(form(), DAY, "23:30")).toMatchObject({
      endDay: "2027-03-11",
      endTime: "00:30",
    });
  });

  test("sends what was changed, and times whole", () => {
    expect(changedIn(form(), { ...form(), location: "Here" })).toEqual({ location: "Here" });
    expect(Object.keys(changedIn(form(), { ...form(), endTime: "11:00" })).toSorted()).toEqual([
      "all_day",
      "end",
      "start",
      "zone",
    ]);
  });

  test("says what is wrong", () => {
    expect(faultIn(form())).toBe("");
    expect(faultIn({ ...form(), title: " " })).toMatch("title");
    expect(faultIn({ ...form(), endTime: "08:00" })).toMatch("ends before");
    expect(faultIn({ ...form(), startTime: "" })).toMatch("time");
  });

  test("reads people by name, by address, or both", () => {
    expect(attendeesIn("Ana <ana@example.org>, bo@example.org; Cy")).toEqual([
      { name: "Ana", email: "ana@example.org" },
      { email: "bo@example.org" },
      { name: "Cy" },
    ]);
  });
});
