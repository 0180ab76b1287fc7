import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { StoredMessage } from "../api/types";
import { Session, type SessionHooks } from "./session";

const faults: string[] = [];
const hooks: SessionHooks = {
  asking: () => () => {},
  onCreated: () => {},
  onMemory: () => {},
  onFault: ({ title }) => faults.push(title),
};
const open = {
  active_run: null as string | null,
  archived: false,
  branch: 0,
  branch_count: 1,
  created_at: "2026-11-22T08:00:00Z",
  id: "c",
  message_count: 0,
  messages: [] as StoredMessage[],
  model: null,
  origin: "",
  project: null,
  spent: [],
  system: "",
  temporary: false,
  title: "A walk",
  updated_at: "2026-11-22T08:00:00Z",
};

/** The messages of a conversation in which this was said, the model's words at the odd places. */
function said(...words: readonly string[]) {
  const messages = words.map((content, position) => ({
    id: `m${position}`,
    position,
    at: "2026-11-22T08:00:00Z",
    run: `r${Math.floor(position / 2)}`,
    role: position % 2 ? "assistant" : "user",
    content,
    attachments: [],
    tool_calls: [],
    recalled: [],
    used: [],
    unbacked: [],
    changed: [],
    siblings: null,
    stop_reason: position % 2 ? "answered" : null,
  }));
  return {
    ...open,
    message_count: words.length,
    messages: messages as unknown as StoredMessage[],
  };
}

type Asked = { what: string; answer: (body: unknown) => Promise<void>; fail: () => Promise<void> };
/** What was asked of the server, in order. */
let asked: Asked[] = [];
/** Everything that follows from an answer at once has happened by then. */
const settled = () => new Promise<void>((done) => setTimeout(done));

beforeEach(() => {
  asked = [];
  faults.length = 0;
  const fetch = (path: string, { method = "GET" }: RequestInit = {}) =>
    new Promise<Partial<Response>>((resolve, reject) => {
      const answer = (body: unknown) => {
        const isStream = body instanceof ReadableStream;
        const whole = { body: isStream ? body : null, json: () => Promise.resolve(body) };
        resolve({ ok: true, status: 200, ...whole });
        return settled();
      };
      const fail = () => {
        reject(new TypeError("no route"));
        return settled();
      };
      asked.push({ what: `${method} ${path}`, answer, fail });
    });
  vi.stubGlobal("fetch", fetch);
  vi.stubGlobal("document", { visibilityState: "visible" });
  vi.stubGlobal("requestAnimationFrame", (draw: () => void) => setTimeout(draw));
});
afterEach(() => vi.unstubAllGlobals());

/** The question that was asked of the server and has these words in it, once it is asked. */
async function question(words: string): Promise<Asked> {
  const found = await vi.waitFor(() => {
    const at = asked.findIndex(({ what }) => what.includes(words));
    if (at < 0) throw new Error(`${words} was not asked: ${asked.map(({ what }) => what)}`);
    return asked.splice(at, 1)[0];
  });
  return found as Asked;
}

/** A stream of events that stays open until it is told to end. */
function live() {
  let to: ReadableStreamDefaultController<Uint8Array>;
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => {
      to = controller;
    },
  });
  const write = (data: string) => to.enqueue(new TextEncoder().encode(`data: ${data}\n\n`));
  const tell = (event: object) => write(JSON.stringify(event));
  const end = (reason = "answered") => {
    tell({ kind: "run_done", reason });
    write("[DONE]");
    to.close();
  };
  return { stream, tell, end, cut: () => to.close() };
}

const started = (run: string) => ({
  kind: "run_started",
  run,
  conversation: "c",
  message: "m9",
  model: "m",
  at: 1,
});

const questions = (session: Session) =>
  session.store.get().turns.map(({ question }) => question?.content);
const answers = (session: Session) =>
  session.store.get().turns.map(({ run: { parts } }) => {
    const [first] = parts;
    return first?.type === "text" ? first.text : "";
  });

async function opened(...words: readonly string[]): Promise<Session> {
  const session = new Session("c", hooks);
  await (await question("GET")).answer(said(...words));
  return session;
}

test("what is sent before the conversation was read waits for its past", async () => {
  const session = new Session("c", hooks);
  await session.send("And then?");
  expect(session.store.get().queue).toMatchObject([{ text: "And then?" }]);
  expect(asked).toHaveLength(1);

  await (await question("GET")).answer(open);
  await question("POST /conversations/c/chat");
  const { queue, status } = session.store.get();
  expect({ queue, status }).toEqual({ queue: [], status: "ready" });
  expect(questions(session)).toEqual(["And then?"]);
});

test("what is said while another place is being read is not taken away by it", async () => {
  const session = await opened("One?", "One.", "Two?", "Two.");
  void session.show(40);
  const place = await question("at=40");
  void session.send("Three?");
  await place.answer(said("Forty?", "Forty."));
  expect(questions(session)).toEqual(["One?", "Two?", "Three?"]);
});

test("the place that was wanted last is shown, also before any was read", async () => {
  const session = new Session("c", hooks);
  const end = await question("GET");
  void session.show(2);
  const place = await question("at=2");
  await place.answer(said("One?", "One.", "Two?", "Two."));
  await end.answer(said("Nine?", "Nine."));
  expect(questions(session)).toEqual(["One?", "Two?"]);
  expect(session.store.get().target).toEqual({ position: 2 });
});

test("an answer is stopped that has not begun when that is wanted", async () => {
  const session = await opened();
  void session.send("Count");
  const chat = await question("/chat");
  await session.stop();
  expect(session.store.get().stopping).toBe(true);
  const { stream, tell } = live();
  await chat.answer(stream);
  tell(started("r7"));
  await question("POST /runs/r7/cancel");
});

test("branches are gone over to one after the other, and a message waits for the last", async () => {
  const session = await opened("One?", "One.");
  const siblings = { branches: [0, 1, 2], index: 0, position: 0 };
  void session.choose(siblings, 1);
  void session.choose(siblings, 2);
  await session.send("And then?");
  await (await question("PATCH")).answer(open);
  expect(asked.map(({ what }) => what)).toEqual(["GET /conversations/c?limit=50&at=0"]);
  await (await question("GET")).answer(said("Second?", "Second."));
  await (await question("PATCH")).answer(open);
  await (await question("GET")).answer(said("Third?", "Third."));
  await question("/chat");
  expect(questions(session)).toEqual(["Third?", "And then?"]);
});

test("what was said elsewhere is added when somebody comes back", async () => {
  const session = await opened("One?", "One.");
  void session.look();
  await (await question("GET")).answer({
    ...said("One?", "One.", "Two?", "Two.", "Three?"),
    active_run: "r2",
  });
  expect(questions(session)).toEqual(["One?", "Two?", "Three?"]);
  const { stream, tell, end } = live();
  await (await question("/runs/r2/events")).answer(stream);
  tell(started("r2"));
  tell({ kind: "text_delta", text: "Three." });
  end();
  await question("GET /conversations/c?");
  expect(answers(session)).toEqual(["One.", "Two.", "Three."]);
});

test("an answer whose turn is not held is not written into another, and heard once it is", async () => {
  const session = new Session("c", hooks, { at: 0 });
  const past = { ...said("One?", "One."), message_count: 3, active_run: "r1" };
  await (await question("at=0")).answer(past);
  const first = live();
  await (await question("/runs/r1/events")).answer(first.stream);
  await vi.waitFor(() => expect(session.store.get().link).toBe("live"));
  const taken = new Promise<void>((done) => session.store.subscribe(done));
  first.tell(started("r1"));
  first.tell({ kind: "text_delta", text: "Tw" });
  await taken;
  expect(answers(session)).toEqual(["One."]);
  void session.loadNewer();
  const [, , two] = said("One?", "One.", "Two?").messages;
  await (await question("after=1")).answer({ ...past, messages: [two] });
  expect(answers(session)).toEqual(["One.", ""]);
  const whole = live();
  await (await question("/runs/r1/events")).answer(whole.stream);
  whole.tell(started("r1"));
  whole.tell({ kind: "text_delta", text: "Two" });
  await vi.waitFor(() => expect(answers(session)).toEqual(["One.", "Two"]));
});

test("a message that was not sent is sent again behind what was said since", async () => {
  const session = await opened();
  void session.send("Lost?");
  await (await question("/chat")).fail();
  void session.send("Heard?");
  const { stream, tell, end } = live();
  await (await question("/chat")).answer(stream);
  tell(started("r1"));
  end();
  await vi.waitFor(() => expect(session.store.get().running).toBe(false));
  const [lost] = session.store.get().turns;
  if (lost) void session.retry(lost);
  await question("/chat");
  expect(questions(session)).toEqual(["Heard?", "Lost?"]);
});

test("what is shown stays where a place cannot be read, and that is told", async () => {
  const session = await opened("One?", "One.");
  void session.show(40);
  await (await question("at=40")).fail();
  expect(session.store.get().status).toBe("ready");
  expect(faults).toEqual(["Bethink is not responding"]);
});

test("what waits behind an answer that broke off says so, and is sent before what is said later", async () => {
  const session = await opened();
  void session.send("First?");
  const first = live();
  await (await question("/chat")).answer(first.stream);
  first.tell(started("r1"));
  await session.send("Second?");
  expect(session.store.get()).toMatchObject({ running: true, queue: [{ text: "Second?" }] });
  first.end("interrupted");
  await vi.waitFor(() => expect(session.store.get().running).toBe(false));
  expect(session.store.get()).toMatchObject({ parked: true, queue: [{ text: "Second?" }] });
  expect(asked.filter(({ what }) => what.includes("/chat"))).toEqual([]);
  void session.send("Third?");
  const second = live();
  await (await question("/chat")).answer(second.stream);
  expect(questions(session)).toEqual(["First?", "Second?"]);
  expect(session.store.get().queue).toMatchObject([{ text: "Third?" }]);
  second.tell(started("r2"));
  second.end();
  await question("/chat");
  expect(questions(session)).toEqual(["First?", "Second?", "Third?"]);
});

test("what waits behind an answer that broke off is sent when that is wanted", async () => {
  const session = await opened();
  void session.send("First?");
  const first = live();
  await (await question("/chat")).answer(first.stream);
  first.tell(started("r1"));
  await session.send("Second?");
  first.end("interrupted");
  await vi.waitFor(() => expect(session.store.get().parked).toBe(true));
  session.sendWaiting();
  await question("/chat");
  expect(questions(session)).toEqual(["First?", "Second?"]);
});

test("an answer that broke off goes on before what waits behind it", async () => {
  const session = await opened();
  void session.send("First?");
  const first = live();
  await (await question("/chat")).answer(first.stream);
  first.tell(started("r1"));
  await session.send("Second?");
  first.end("interrupted");
  await vi.waitFor(() => expect(session.store.get().parked).toBe(true));
  void session.resume("Go on.");
  await question("/chat");
  expect(questions(session)).toEqual(["First?", "Go on."]);
  expect(session.store.get().queue).toMatchObject([{ text: "Second?" }]);
});

test("whether the server is there is asked as soon as a stream breaks, and it is heard again once it is", async () => {
  const page = new EventTarget();
  vi.stubGlobal("addEventListener", page.addEventListener.bind(page));
  vi.stubGlobal("removeEventListener", page.removeEventListener.bind(page));
  vi.stubGlobal("dispatchEvent", page.dispatchEvent.bind(page));
  const lost = vi.fn();
  page.addEventListener("connection-lost", lost);
  const session = await opened();
  void session.send("First?");
  const first = live();
  await (await question("/chat")).answer(first.stream);
  first.tell(started("r1"));
  first.cut();
  await vi.waitFor(() => expect(lost).toHaveBeenCalledOnce());
  await (await question("/runs/r1/events")).fail();
  const again = question("/runs/r1/events");
  await settled();
  page.dispatchEvent(new Event("connection-back"));
  await again;
});

test("what was not sent, and what waits, is there again after a reload and goes when its writer says so", async () => {
  const before = await opened("One?", "One.");
  before.foreign.set(true);
  void before.send("Two?");
  void before.send("Three?");
  await (await question("POST /conversations/c/chat")).fail();
  const kept = JSON.parse(JSON.stringify(before.waiting));
  const again = new Session("c", hooks);
  again.waitAgain(kept);
  // Until the past is there it is still kept.
  expect(JSON.parse(JSON.stringify(again.waiting))).toEqual(kept);
  await (await question("GET")).answer(said("One?", "One."));
  expect(questions(again)).toEqual(["One?", "Two?"]);
  expect(asked).toEqual([]);
  const [, unsent] = again.store.get().turns;
  expect(unsent?.unsent).toMatchObject({ said: { text: "Two?", untrusted: true } });
  expect(again.store.get().queue).toMatchObject([{ text: "Three?" }]);
  if (unsent) void again.retry(unsent);
  await question("POST /conversations/c/chat");
  expect(again.waiting.unsent).toEqual([]);
});
