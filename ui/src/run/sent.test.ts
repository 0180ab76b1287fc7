import { expect, test } from "vitest";
import type { ContractEvent } from "../api/types";
import { emptyRun, reduce } from "./reduce";
import { decided } from "./sent";

const asked: ContractEvent = {
  kind: "tool_requested",
  call: "t1",
  name: "send_letter",
  arguments: "{}",
  label: "Send",
};
const finished: ContractEvent = {
  kind: "tool_finished",
  call: "t1",
  name: "send_letter",
  text: "no",
  error: "rejected",
  duration_ms: 1,
};

test("a call that was answered meanwhile keeps what was decided for good", () => {
  const called = reduce({ ...emptyRun, id: "r" }, asked);
  for (const run of [called, reduce(called, finished)]) {
    const state = run.parts.find((part) => part.type === "tool")?.state;
    const turns = [{ key: "k", question: null, run }];
    const after = decided(turns, "r", "t1", { decision: "reject", always: true });
    expect(after.turns[0]?.run.parts).toMatchObject([{ state, decision: "reject", always: true }]);
    expect(after.waits).toBe(false);
  }
});
