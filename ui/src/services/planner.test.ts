import { describe, expect, test } from "vitest";
import { addressOfEvent, addressOfTasks, routeOf } from "./router";

describe("addresses of what is planned", () => {
  test("lead to a view, a task, an event", () => {
    expect(routeOf("/tasks/board?due=today")).toMatchObject({ view: "board", filter: "due=today" });
    expect(routeOf(addressOfTasks({ task: "t 1" }))).toMatchObject({ room: "tasks", task: "t 1" });
    expect(routeOf("/calendar/week/2027-03-10")).toMatchObject({ view: "week", day: "2027-03-10" });
    expect(routeOf(addressOfEvent("e@2027-03-10T09:00:00"))).toMatchObject({
      event: "e@2027-03-10T09:00:00",
      day: "2027-03-10",
    });
    expect(routeOf("/calendar/settings")).toMatchObject({ room: "calendar", view: "settings" });
    expect(routeOf("/schedules/s1")).toMatchObject({ room: "schedules", schedule: "s1" });
  });

  test("that lead nowhere are lost", () => {
    for (const path of ["/calendar/year", "/calendar/week/soon", "/tasks/a/b", "/today/x"]) {
      expect(routeOf(path).room).toBe("lost");
    }
  });
});
