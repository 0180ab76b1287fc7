import { describe, expect, test } from "vitest";
import type { ContractEvent } from "../api/types";
import { emptyRun, type Run, reduce, type ToolPart } from "./reduce";

const started: ContractEvent = {
  kind: "run_started",
  run: "r1",
  conversation: "c1",
  message: "m1",
  model: "openai:x",
  at: 1_000_000,
};
const asked: ContractEvent = {
  kind: "tool_requested",
  call: "t1",
  name: "search_memory",
  arguments: '{"query":"trains"}',
  label: "Looked through your memory",
};
const finished: ContractEvent = {
  kind: "tool_finished",
  call: "t1",
  name: "search_memory",
  text: "2 found",
  duration_ms: 12,
};
const text = (words: string): ContractEvent => ({ kind: "text_delta", text: words });
const done: ContractEvent = { kind: "run_done", reason: "answered", message: "m2" };
const waits: ContractEvent = { kind: "run_done", reason: "awaiting_approval" };

const play = (...events: ContractEvent[]): Run =>
  events.reduce((run, event) => reduce(run, event, 3000), emptyRun);
const tool = (run: Run) => run.parts.find((part): part is ToolPart => part.type === "tool");

describe("reduce", () => {
  test("collects the words of an answer around its tools, in order", () => {
    const run = play(
      started,
      text("Let me "),
      text("look."),
      asked,
      finished,
      text("Found."),
      done,
    );
    expect(
      run.parts.map((part) => (part.type === "tool" ? part.label : "text" in part && part.text)),
    ).toEqual(["Let me look.", "Looked through your memory", "Found."]);
    expect(run).toMatchObject({ id: "r1", startedAt: 1000, endedAt: 3000, end: "answered" });
  });

  test("changes nothing of the run it was given", () => {
    const before = play(started, text("a"));
    const copy = structuredClone(before);
    reduce(before, text("b"));
    expect(before).toEqual(copy);
  });

  test("follows a call from asking to its result", () => {
    expect(tool(play(started, asked))).toMatchObject({ state: "running", durationMs: null });
    const progress: ContractEvent = {
      kind: "tool_progress",
      call: "t1",
      text: "half",
      fraction: 0.5,
    };
    expect(tool(play(started, asked, progress))).toMatchObject({ progress: "half", fraction: 0.5 });
    expect(tool(play(started, asked, progress, finished))).toMatchObject({
      state: "done",
      text: "2 found",
      progress: null,
      arguments: '{"query":"trains"}',
    });
  });

  test("says that a call failed", () => {
    const failed = { ...finished, error: "timeout" } as ContractEvent;
    expect(tool(play(started, asked, failed))).toMatchObject({ state: "failed", error: "timeout" });
  });

  test("shows a result whose call it never saw", () => {
    expect(tool(play(started, finished))).toMatchObject({ state: "done", label: "search_memory" });
  });

  test("does not claim an outcome for a call that was still running at the end", () => {
    expect(tool(play(started, asked, { kind: "run_done", reason: "cancelled" }))?.state).toBe(
      "unknown",
    );
  });

  test("goes on after a decision", () => {
    const needed = { ...asked, kind: "approval_needed", reason: "It deletes" } as ContractEvent;
    const waiting = play(started, asked, needed, waits);
    expect(waiting.end).toBe("awaiting_approval");
    expect(tool(waiting)).toMatchObject({ state: "waiting", reason: "It deletes" });
    const decided: ContractEvent = {
      kind: "approval_decided",
      call: "t1",
      decision: "edit",
      arguments: "{}",
    };
    const going = reduce(waiting, decided);
    expect(going).toMatchObject({ end: null, endedAt: null });
    expect(tool(going)).toMatchObject({ state: "running", decision: "edit", arguments: "{}" });
    expect(reduce(reduce(going, finished), done, 9)).toMatchObject({ end: "answered", endedAt: 9 });
  });

  test("holds a question as long as it waits", () => {
    const question = { call: "t1", question: "q1" };
    const wants: ContractEvent = {
      ...question,
      kind: "question_asked",
      source: "inn",
      mode: "form",
      text: "?",
    };
    const answered: ContractEvent = { ...question, kind: "question_answered", outcome: "accept" };
    expect(tool(play(started, asked, wants))?.questions).toHaveLength(1);
    expect(tool(play(started, asked, wants, answered))?.questions).toHaveLength(0);
    expect(tool(play(started, asked, wants, finished))?.questions).toHaveLength(0);
  });

  test("knows what is asked each time, and what came from outside", () => {
    const needed = { ...asked, kind: "approval_needed", reason: "", final: true } as ContractEvent;
    expect(tool(play(started, asked))).toMatchObject({ final: false, untrusted: false });
    expect(tool(play(started, asked, needed))).toMatchObject({ final: true });
    const plot = { name: "plot.png", media_type: "image/png", url: "/files/p" };
    const outside = { ...finished, untrusted: true, attachments: [plot] } as ContractEvent;
    expect(tool(play(started, asked, outside))).toMatchObject({
      untrusted: true,
      attachments: [plot],
    });
  });

  test("replaces only the text that is being written when it is told the whole of it", () => {
    const before = play(started, text("First."), asked, finished, text("Sec"));
    const run = reduce(before, { kind: "text_so_far", text: "Second, whole.", reasoning: "hm" });
    expect(run.parts.flatMap((part) => (part.type === "text" ? [part.text] : []))).toEqual([
      "First.",
      "Second, whole.",
    ]);
    expect(run.parts.some((part) => part.type === "reasoning" && part.text === "hm")).toBe(true);
  });

  test("shows as a thought what was told as text and proved to be one", () => {
    const anew = { kind: "text_so_far", text: "", reasoning: "Hm." } as ContractEvent;
    const run = play(started, text("Hm."), anew, text("Yes."));
    expect(run.parts.map((part) => [part.type, "text" in part && part.text])).toEqual([
      ["reasoning", "Hm."],
      ["text", "Yes."],
    ]);
    const back = { kind: "text_so_far", text: "Hm.", reasoning: "" } as ContractEvent;
    const thought = { kind: "reasoning_delta", text: "Hm." } as ContractEvent;
    expect(play(started, thought, back).parts.map((part) => part.type)).toEqual(["text"]);
  });

  test("gives the same after a replay from the beginning", () => {
    const events = [started, text("a"), asked, finished, text("b"), done];
    const once = play(...events);
    expect(events.reduce((run, event) => reduce(run, event, 3000), once)).toEqual(once);
  });

  test("keeps each memory that was used once, the best first", () => {
    const item = (id: string, score: number) => ({ id, kind: "fact", text: id, score, at: 1 });
    const used = (...items: ReturnType<typeof item>[]): ContractEvent => ({
      kind: "memory_recalled",
      items,
    });
    const run = play(started, used(item("a", 0.2), item("b", 0.9)), used(item("a", 0.5)));
    expect(run.recalled.map(({ id, score }) => [id, score])).toEqual([
      ["b", 0.9],
      ["a", 0.5],
    ]);
  });

  test("keeps what changed, what was spent, what was warned of and what failed", () => {
    const run = play(
      started,
      { kind: "memory_changed", change: "added", ids: ["f1"], text: "Lives in Paris", undo: "u1" },
      { kind: "usage", job: "answer", model: "x", input_tokens: 10, output_tokens: 2 },
      { kind: "warning", part: "embeddings", message: "By words only" },
      { kind: "message_saved", id: "m2", role: "assistant" },
      { kind: "run_failed", code: "unreachable", message: "No answer" },
      { kind: "run_done", reason: "failed" },
    );
    expect(run.changed).toEqual([
      { change: "added", ids: ["f1"], text: "Lives in Paris", undo: "u1" },
    ]);
    expect(run.usage).toHaveLength(1);
    expect(run.failure).toEqual({ code: "unreachable", message: "No answer" });
    expect(run.parts).toMatchObject([
      { type: "warning", about: "embeddings", message: "By words only" },
    ]);
  });

  test("shows what it does not know, and goes on", () => {
    const strange = { kind: "from_the_future", what: 1 } as unknown as ContractEvent;
    const run = play(started, strange, text("still here"), done);
    expect(run.parts).toMatchObject([
      { type: "unknown", event: { kind: "from_the_future" } },
      { type: "text", text: "still here" },
    ]);
    expect(run.end).toBe("answered");
  });

  test("gives every part a key of its own", () => {
    const run = play(started, text("a"), asked, finished, text("b"), {
      ...asked,
      call: "t2",
    } as ContractEvent);
    expect(new Set(run.parts.map((part) => part.key)).size).toBe(run.parts.length);
  });
});
