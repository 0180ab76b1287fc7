import { afterEach, expect, test, vi } from "vitest";
import { SessionsService } from "./sessions";

afterEach(() => vi.unstubAllGlobals());

test("of many conversations those are let go of that are stored as they are", () => {
  vi.stubGlobal("fetch", () => new Promise(() => {}));
  const sessions = new SessionsService({
    asking: () => () => {},
    onCreated: () => {},
    onFault: () => {},
    onMemory: () => {},
  });
  const [written, read] = [sessions.of("written"), sessions.of("read")];
  written.draft = "Dear Mara";
  for (let number = 0; number < 20; number += 1) sessions.of(`${number}`);
  expect(sessions.of("written")).toBe(written);
  expect(sessions.of("read")).not.toBe(read);
});
