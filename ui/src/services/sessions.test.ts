import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { KeptWords } from "./keptWords";
import { SessionsService } from "./sessions";

let stored: Map<string, string>;
const storage: Storage = {
  getItem: (key) => stored.get(key) ?? null,
  setItem: (key, value) => void stored.set(key, value),
  removeItem: (key) => void stored.delete(key),
  clear: () => stored.clear(),
  key: (at) => [...stored.keys()][at] ?? null,
  get length() {
    return stored.size;
  },
};
const hooks = {
  asking: () => () => {},
  onCreated: () => {},
  onFault: () => {},
  onMemory: () => {},
};

/** The conversations of a page that was just loaded. */
async function loaded(owner = "ann") {
  const words = new KeptWords(storage, () => owner, Promise.resolve());
  const sessions = new SessionsService(hooks, words);
  await words.ready;
  return sessions;
}

beforeEach(() => {
  stored = new Map();
  vi.stubGlobal("fetch", () => new Promise(() => {}));
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

test("of many conversations those are let go of that are stored as they are", async () => {
  const sessions = await loaded();
  const [written, read] = [sessions.of("written"), sessions.of("read")];
  written.draft.set("Dear Mara");
  for (let number = 0; number < 20; number += 1) sessions.of(`${number}`);
  expect(sessions.of("written")).toBe(written);
  expect(sessions.of("read")).not.toBe(read);
});

test("what was typed is there after a reload, for who typed it, until it is sent", async () => {
  const first = await loaded();
  first.of("c").draft.set("Dear Mara");
  first.of(null).draft.set("Which tram?");
  first.of(null, { temporary: true }).draft.set("A secret");
  expect(first.holdUnsent).toBe(false);
  const again = await loaded();
  expect(again.of("c").draft.get()).toBe("Dear Mara");
  expect(again.of(null).draft.get()).toBe("Which tram?");
  expect(again.of(null, { temporary: true }).draft.get()).toBe("A secret");
  expect((await loaded("bob")).of("c").draft.get()).toBe("");
  again.of("c").draft.set("");
  expect((await loaded()).of("c").draft.get()).toBe("");
});

test("what could not be sent is there after a reload", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("no route")));
  const session = (await loaded()).of(null);
  await session.send("On the train");
  await vi.waitFor(() => expect(session.waiting.unsent).toHaveLength(1));
  const again = (await loaded()).of(null);
  expect(again.store.get().turns).toMatchObject([{ unsent: { said: { text: "On the train" } } }]);
});

test("what is typed before it is known who is here goes before what is kept", async () => {
  (await loaded()).of("c").draft.set("Dear Mara");
  const words = new KeptWords(storage, () => "ann", Promise.resolve());
  const sessions = new SessionsService(hooks, words);
  sessions.of("c").draft.set("Dear Ann");
  expect(sessions.of("d").draft.get()).toBe("");
  await words.ready;
  expect((await loaded()).of("c").draft.get()).toBe("Dear Ann");
});

test("what there is no room for is asked about", async () => {
  const sessions = await loaded();
  vi.spyOn(storage, "setItem").mockImplementationOnce(() => {
    throw new DOMException("full", "QuotaExceededError");
  });
  sessions.of("c").draft.set("Dear Mara");
  expect(sessions.holdUnsent).toBe(true);
});

test("signing out forgets what was typed, also in conversations that are not open", async () => {
  (await loaded()).of("c").draft.set("Dear Mara");
  const sessions = await loaded();
  sessions.of("d").draft.set("Dear Ann");
  sessions.forgetWords();
  expect(sessions.holdUnsent).toBe(false);
  expect(stored.size).toBe(0);
});
