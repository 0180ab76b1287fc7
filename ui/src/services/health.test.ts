import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { HealthService } from "./health";

const held: (() => void)[] = [];
const settled = () => vi.advanceTimersByTimeAsync(0);

beforeEach(() => {
  vi.useFakeTimers();
  held.length = 0;
  vi.stubGlobal("document", { visibilityState: "hidden" });
  const body = () => Promise.resolve({ status: "ok" });
  vi.stubGlobal(
    "fetch",
    () =>
      new Promise((resolve) =>
        held.push(() => resolve({ ok: true, status: 200, json: body } as unknown as Response)),
      ),
  );
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("what answered before the connection was lost does not tell that it is there", async () => {
  const health = new HealthService();
  void health.check();
  health.lost();
  for (const answer of held.splice(0)) answer();
  await settled();
  expect(health.store.get().reachable).toBe(false);
  void health.check();
  for (const answer of held.splice(0)) answer();
  await settled();
  expect(health.store.get().reachable).toBe(true);
});
