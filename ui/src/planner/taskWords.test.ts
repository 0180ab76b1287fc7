import { describe, expect, test } from "vitest";
import type { Task } from "../api/tasks";
import { dateOf, rfc3339 } from "../services/days";
import { dueWords, grouped } from "./taskWords";

const TODAY = "2027-03-10";
const task = (given: Partial<Task>) =>
  ({ status: "todo", due_date: null, due_at: null, overdue: false, ...given }) as Task;

describe("tasks", () => {
  test("stand by the day they are due", () => {
    const all = [
      task({ id: "late", due_date: "2027-03-01", overdue: true }),
      task({ id: "now", due_at: rfc3339(dateOf(TODAY, 17 * 60)) }),
      task({ id: "soon", due_date: "2027-03-17" }),
      task({ id: "later", due_date: "2027-03-18" }),
      task({ id: "never" }),
      task({ id: "done", status: "done", due_date: "2027-03-01" }),
    ];
    expect(
      grouped(all, TODAY).map(({ group, tasks }) => [group, tasks.map(({ id }) => id)]),
    ).toEqual([
      ["Overdue", ["late"]],
      ["Today", ["now"]],
      ["Next 7 days", ["soon"]],
      ["Later", ["later"]],
      ["Without a date", ["never"]],
      ["Done", ["done"]],
    ]);
  });

  test("say when they are due as people do", () => {
    expect(dueWords(task({ due_date: TODAY }), TODAY)).toBe("Today");
    expect(dueWords(task({ due_date: "2027-03-11" }), TODAY)).toBe("Tomorrow");
    expect(dueWords(task({ due_date: "2028-03-11" }), TODAY)).toContain("2028");
    expect(dueWords(task({}), TODAY)).toBe("");
  });
});
