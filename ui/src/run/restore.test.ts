import { describe, expect, test } from "vitest";
import type { StoredMessage } from "../api/types";
import { recognised } from "./past";
import { restore, withWaiting } from "./restore";
import { decided } from "./sent";
import type { ShownTurn } from "./view";

const at = "2026-05-03T10:00:00Z";
const later = "2026-05-03T10:00:02Z";
const place = { branch: 0, position: 0, siblings: null };
const user = (id: string, run: string): StoredMessage => ({
  id,
  at,
  run,
  role: "user",
  content: id,
  attachments: [],
  ...place,
});
const bare = {
  ...place,
  tool_calls: [],
  reasoning: "",
  stop_reason: null,
  note: null,
  recalled: [],
  used: [],
  unbacked: [],
  changed: [],
  usage: null,
};
const calls: StoredMessage = {
  id: "a1",
  at,
  run: "r1",
  role: "assistant",
  content: "",
  ...bare,
  tool_calls: [{ id: "t1", name: "store_memory", arguments: "{}", label: "Remembered: Paris" }],
};
const result: StoredMessage = {
  id: "x1",
  at,
  run: "r1",
  role: "tool",
  call: "t1",
  name: "store_memory",
  content: "Stored",
  ...place,
  attachments: [],
  error: null,
  duration_ms: 4,
  untrusted: false,
};
const answer: StoredMessage = {
  id: "a2",
  at: later,
  run: "r1",
  role: "assistant",
  content: "Done.",
  ...bare,
  stop_reason: "answered",
  recalled: [{ id: "f1", kind: "fact", score: 0.8 }],
  used: [{ id: "f1", after: 4 }],
  unbacked: [{ claim: "sent", text: "Done." }],
  changed: [{ change: "added", ids: ["f2"], undo: "u1" }],
  usage: { input_tokens: 5, output_tokens: 1, cost_usd: null, estimated: true },
};

describe("restore", () => {
  test("makes one turn of a question and everything that answers it", () => {
    const [turn, ...others] = restore([user("q1", "r1"), calls, result, answer]);
    expect(others).toEqual([]);
    expect(turn?.question?.content).toBe("q1");
    expect(turn?.run).toMatchObject({
      id: "r1",
      end: "answered",
      recalled: [{ id: "f1" }],
      used: [{ id: "f1", after: 4 }],
      unbacked: [{ claim: "sent" }],
      changed: [{ undo: "u1" }],
    });
    expect(turn?.run.parts).toMatchObject([
      { type: "tool", label: "Remembered: Paris", state: "done", text: "Stored", durationMs: 4 },
      { type: "text", text: "Done." },
    ]);
    expect((turn?.run.endedAt ?? 0) - (turn?.run.startedAt ?? 0)).toBe(2000);
  });

  test("says of a call without a result that its outcome is unknown", () => {
    expect(restore([user("q1", "r1"), calls])[0]?.run.parts).toMatchObject([{ state: "unknown" }]);
  });

  test("marks the calls that wait for a decision", () => {
    const waiting = {
      run: "r1",
      call: "t1",
      name: "store_memory",
      arguments: "{}",
      label: "Store",
      reason: "why",
      final: true,
    };
    const [turn] = withWaiting(restore([user("q1", "r1"), calls]), [waiting]);
    expect(turn?.run).toMatchObject({
      end: "awaiting_approval",
      parts: [{ state: "waiting", reason: "why", final: true }],
    });
  });

  test("keeps files, what came from outside, and what was rejected", () => {
    const plot = { name: "plot.png", media_type: "image/png", url: "/files/p" };
    const asked = { ...user("q1", "r1"), attachments: [plot] } as StoredMessage;
    const drawn = { ...result, attachments: [plot], untrusted: true } as StoredMessage;
    const [turn] = restore([asked, calls, drawn]);
    expect(turn?.question?.attachments).toEqual([plot]);
    expect(turn?.run.parts).toMatchObject([{ attachments: [plot], untrusted: true }]);
    const refused = { ...result, error: "rejected" } as StoredMessage;
    expect(restore([asked, calls, refused])[0]?.run.parts).toMatchObject([{ decision: "reject" }]);
  });

  test("keeps what was decided here while the answer was read anew", () => {
    const [asked] = restore([user("q1", "r1"), calls]);
    const [known] = decided([asked as ShownTurn], "r1", "t1", {
      decision: "approve",
      always: true,
    }).turns;
    const waiting = { ...known, run: { ...known?.run, end: "awaiting_approval" } } as ShownTurn;
    const [read] = recognised(restore([user("q1", "r1"), calls, result, answer]), [waiting]);
    expect(read?.run).toMatchObject({
      end: "answered",
      parts: [{ state: "done", decision: "approve", always: true }, { type: "text" }],
    });
  });

  test("shows an answer whose question is on an older page", () => {
    expect(restore([answer, user("q2", "r2")]).map((turn) => turn.question?.id ?? null)).toEqual([
      null,
      "q2",
    ]);
  });
});
