import { expect, test } from "vitest";
import type { Conversation } from "../../../api/types";
import { byDay, listed } from "./rows";

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
  const names = byDay(items, now).flatMap((row) => (row.kind === "heading" ? [row.name] : []));
  expect(names.slice(0, 4)).toEqual([
    "Today",
    "Yesterday",
    "Earlier this week",
    "Earlier this month",
  ]);
  expect(names[4]).toMatch(/^April$/);
  expect(names[5]).toMatch(/2025/);
});

test("a group is made once and keeps the order", () => {
  const rows = byDay([used("b", 2026, 10, 21, 8), used("a", 2026, 10, 21, 7)], now);
  expect(rows.map(({ key }) => key)).toEqual(["day Today", "b", "a"]);
});

test("what is pinned stands first, then projects with theirs, then the rest", () => {
  const items = [
    used("plain", 2026, 10, 21, 8),
    { ...used("garden", 2026, 10, 20), project: "Garden" },
    { ...used("pinned", 2025, 1, 1), pinned: true, project: "Garden" },
    { ...used("boat", 2026, 10, 2), project: "Boat" },
  ];
  const boat = {
    id: "Boat",
    name: "The boat",
    instructions: "",
    memory: "all",
    collections: [],
    created_at: "x",
  } as const;
  const rows = listed(items, [boat], new Set(["Garden"]), now);
  expect(rows.map(({ key }) => key)).toEqual([
    "pinned first",
    "pinned",
    "projects",
    "project Boat",
    "project Garden",
    "garden",
    "day Today",
    "plain",
  ]);
});
