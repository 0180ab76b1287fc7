import { expect, test } from "vitest";
import { answerText } from "../../answer/parts";
import { Problem } from "../../api/client";
import { Asking } from "./asking";

/** An answer to which events are added as it goes. */
class Stream {
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  readonly response = new Response(
    new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller;
      },
    }),
  );
  tell = (...events: (object | string)[]) => {
    for (const event of events) {
      const data = typeof event === "string" ? event : JSON.stringify(event);
      this.#controller?.enqueue(new TextEncoder().encode(`data: ${data}\n\n`));
    }
  };
  end = () => this.#controller?.close();
}

const text = (said: string) => ({ kind: "text_delta", text: said });
const DONE = "[DONE]";

test("an answer comes with its steps, and with the pages that were read for it", async () => {
  const stream = new Stream();
  const asking = new Asking(async () => stream.response);
  const asked = asking.ask("Who is Jane?");
  expect(asking.store.get().running).toBe(true);
  const called = { call: "1", name: "read_file", label: "Read jane.md", arguments: "{}" };
  stream.tell(
    { kind: "tool_requested", ...called },
    { kind: "tool_finished", ...called, text: "# Jane", duration_ms: 3 },
    text("A doctor."),
    { kind: "memory_used", ids: ["jane.md"], marks: [] },
    { kind: "run_done", reason: "answered" },
    DONE,
  );
  await asked;
  const { run, running, pages, problem } = asking.store.get();
  expect([run && answerText(run), run?.end, running, pages, problem]).toEqual([
    "A doctor.",
    "answered",
    false,
    ["jane.md"],
    null,
  ]);
  expect(run?.parts[0]).toMatchObject({ type: "tool", state: "done", label: "Read jane.md" });
});

test("a stream that ends too early says so, and keeps what came", async () => {
  const stream = new Stream();
  const asking = new Asking(async () => stream.response);
  const asked = asking.ask("Who?");
  stream.tell(text("Half"));
  stream.end();
  await asked;
  const { run, problem } = asking.store.get();
  expect([run && answerText(run), problem?.code]).toEqual(["Half", "cut"]);
});

test("what is refused is told in the server's words", async () => {
  const refused = new Problem("no_model", "No model is set", "Set one.", 409);
  const asking = new Asking(() => Promise.reject(refused));
  await asking.ask("Who?");
  expect([asking.store.get().problem, asking.store.get().running]).toEqual([refused, false]);
});

test("a later question's answer is not mixed with an earlier one's", async () => {
  const streams = [new Stream(), new Stream()];
  const given = [...streams];
  const asking = new Asking(async () => (given.shift() as Stream).response);
  const first = asking.ask("First?");
  const second = asking.ask("Second?");
  streams[0]?.tell(text("one"), DONE);
  streams[1]?.tell(text("two"), DONE);
  await Promise.all([first, second]);
  const { question, run, running } = asking.store.get();
  expect([question, run && answerText(run), running]).toEqual(["Second?", "two", false]);
});

test("an answer that is stopped keeps what was said, and ends for the server, too", async () => {
  const stream = new Stream();
  let signal: AbortSignal | undefined;
  const asking = new Asking(async (_, given) => {
    signal = given;
    return stream.response;
  });
  const asked = asking.ask("Who?");
  stream.tell(text("Half"));
  const heard = new Promise<void>((resolve) => {
    asking.store.subscribe(resolve);
  });
  await heard;
  asking.stop();
  stream.tell(text(" and more"), DONE);
  await asked;
  const { run, running, problem } = asking.store.get();
  expect([run && answerText(run), run?.end, running, problem]).toEqual([
    "Half",
    "cancelled",
    false,
    null,
  ]);
  expect(signal?.aborted).toBe(true);
});
