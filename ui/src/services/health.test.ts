import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { HealthService } from "./health";

const held: (() => void)[] = [];
const settled = () => vi.advanceTimersByTimeAsync(0);

beforeEach(() => {
  vi.useFakeTimers();
  held.length = 0;
  vi.stubGlobal("document", { visibilityState: "hidden" });
  vi.stubGlobal("dispatchEvent", () => true);
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

test("a server that does not say how it is counts as lost, and its return is told", async () => {
  const page = new EventTarget();
  vi.stubGlobal("addEventListener", page.addEventListener.bind(page));
  vi.stubGlobal("dispatchEvent", page.dispatchEvent.bind(page));
  vi.stubGlobal("document", Object.assign(new EventTarget(), { visibilityState: "visible" }));
  const back = vi.fn();
  page.addEventListener("connection-back", back);
  const health = new HealthService();
  health.start();
  for (const answer of held.splice(0)) answer();
  await settled();
  expect(health.store.get().reachable).toBe(true);

  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("refused")));
  page.dispatchEvent(new Event("connection-lost"));
  await settled();
  expect(health.store.get().reachable).toBe(false);

  const body = () => Promise.resolve({ status: "ok" });
  vi.stubGlobal("fetch", () => Promise.resolve({ ok: true, status: 200, json: body }));
  await vi.advanceTimersByTimeAsync(2000);
  expect(health.store.get().reachable).toBe(true);
  expect(back).toHaveBeenCalledOnce();
});
