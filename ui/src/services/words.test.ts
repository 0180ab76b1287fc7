import { expect, test } from "vitest";
import { bytes, count, duration, endOf, money } from "./words";

test("durations are said as people read them", () => {
  expect([4, 120, 1949, 9960, 61_000].map(duration)).toEqual([
    "4 ms",
    "0.1 s",
    "1.9 s",
    "10 s",
    "1 min 1 s",
  ]);
});

test("things are counted in words", () => {
  expect([
    count(1, "memory", "memories"),
    count(3, "memory", "memories"),
    count(2, "token"),
  ]).toEqual(["1 memory", "3 memories", "2 tokens"]);
});

test("sizes are said as people read them", () => {
  expect([0, 840, 12_400, 999_600, 3_440_000, 48_000_000].map(bytes)).toEqual([
    "0 B",
    "840 B",
    "12 kB",
    "1.0 MB",
    "3.4 MB",
    "48 MB",
  ]);
});

test("small money is not called nothing", () => {
  expect([money(0), money(0.0004), money(0.012), money(3)]).toEqual([
    "$0.00",
    "< $0.01",
    "$0.01",
    "$3.00",
  ]);
});

test("every end but a plain one is explained", () => {
  for (const plain of ["answered", "awaiting_approval", "client_tools"] as const) {
    expect(endOf(plain)).toBeNull();
  }
  for (const told of ["cancelled", "failed", "max_steps", "length", "content_filter"] as const) {
    expect(endOf(told)).toMatch(/\.$/);
  }
});
