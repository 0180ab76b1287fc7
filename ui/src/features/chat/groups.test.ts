import { expect, test } from "vitest";
import type { Conversation } from "../../api/types";
import { grouped } from "./groups";

const now = new Date(2026, 10, 21, 9, 0).getTime();
const used = (id: string, ...date: [number, number, number, number?]) =>
  ({
    id,
    updated_at: new Date(...(date as [number, number, number, number])).toISOString(),
  }) as Conversation;

test("conversations stand under the day, week or month they were last used in", () => {
  const items = [
    used("this morning", 2026, 10, 21, 8),
    used("late last night", 2026, 10, 20, 23),
    used("some days ago", 2026, 10, 17, 12),
    used("weeks ago", 2026, 10, 2, 12),
    used("in spring", 2026, 3, 2, 12),
    used("last year", 2025, 3, 2, 12),
  ];
  const groups = grouped(items, now);
  expect(groups.slice(0, 4).map(({ name, items: [first] }) => [name, first?.id])).toEqual([
    ["Today", "this morning"],
    ["Yesterday", "late last night"],
    ["Earlier this week", "some days ago"],
    ["Earlier this month", "weeks ago"],
  ]);
  expect(groups[4]?.name).toMatch(/^April$/);
  expect(groups[5]?.name).toMatch(/2025/);
});

test("a group is made once and keeps the order", () => {
  const [group] = grouped([used("b", 2026, 10, 21, 8), used("a", 2026, 10, 21, 7)], now);
  expect(group?.items.map(({ id }) => id)).toEqual(["b", "a"]);
});
