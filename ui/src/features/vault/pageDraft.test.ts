import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Problem } from "../../api/client";
import type { VaultChange, VaultPage } from "../../api/types";
import { PageConflict } from "../../api/vault";
import { keptDrafts } from "./keptDrafts";
import { KEEP_MS, PAUSE_MS, PageDraft } from "./pageDraft";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const pageOf = (text: string, version: string): VaultPage => ({
  path: "a.md",
  text,
  version,
  size: text.length,
  changed_at: "2026-11-22T10:00:00Z",
  problems: [],
});

class Tab {
  readonly #items = new Map<string, string>();
  room = Number.POSITIVE_INFINITY;
  getItem = (key: string) => this.#items.get(key) ?? null;
  removeItem = (key: string) => void this.#items.delete(key);
  setItem = (key: string, value: string) => {
    if (value.length > this.room) throw new DOMException("full", "QuotaExceededError");
    this.#items.set(key, value);
  };
}

/** A server with one page, whose answers can be held back. */
class Server {
  page: VaultPage | null = pageOf("one", "v1");
  readonly written: string[] = [];
  #held: (() => void)[] = [];
  #holds = false;
  #version = 1;

  hold = () => {
    this.#holds = true;
  };
  /** From now on answers go at once; those that are held back stay so. */
  holdNoMore = () => {
    this.#holds = false;
  };
  /** Lets the oldest answer go that is held back. */
  release = async () => {
    this.#held.shift()?.();
    await vi.advanceTimersByTimeAsync(0);
  };
  unhold = async () => {
    this.holdNoMore();
    while (this.#held.length) await this.release();
  };
  async #answer<T>(value: T): Promise<T> {
    if (this.#holds) await new Promise<void>((resolve) => this.#held.push(resolve));
    return value;
  }
  edit = (text: string) => {
    this.#version += 1;
    this.page = pageOf(text, `v${this.#version}`);
  };
  readonly api = {
    page: async () => {
      const { page } = this;
      await this.#answer(null);
      if (!page) throw new Problem("not_found", "No such page", "", 404);
      return page;
    },
    newer: async (_: string, version: string) => {
      const page = await this.api.page();
      return page.version === version ? null : page;
    },
    write: async (path: string, text: string, version: string): Promise<VaultChange> => {
      const fits = (this.page?.version ?? "") === version;
      const refused = new PageConflict(new Problem("conflict", "Changed", "", 409), this.page);
      if (fits) this.edit(text);
      const change = { path, before: version, after: this.page?.version ?? null };
      await this.#answer(null);
      if (!fits) throw refused;
      this.written.push(text);
      return { ...change, undo: null, moved_from: null };
    },
  };
}

function opened(server: Server, tab = new Tab(), onLeft = (_: string) => {}) {
  const kept = keptDrafts(tab as unknown as Storage, () => "alice", Promise.resolve());
  return new PageDraft("a.md", { api: server.api, kept, onSaved: () => {}, onLeft });
}

async function read(draft: PageDraft): Promise<PageDraft> {
  await draft.read();
  return draft;
}

test("what is typed is saved after a pause, and kept until then", async () => {
  const server = new Server();
  const tab = new Tab();
  const draft = await read(opened(server, tab));
  draft.type("mine");
  await vi.advanceTimersByTimeAsync(KEEP_MS);
  expect((await read(opened(server, tab))).draft?.text).toBe("mine");
  await vi.advanceTimersByTimeAsync(PAUSE_MS);
  expect(server.written).toContain("mine");
  expect((await read(opened(server, tab))).draft?.page?.text).toBe("mine");
  expect(tab.getItem("bethink.draft alice a.md")).toBe(null);
});

test.each(["read", "look"] as const)(
  "a %s from before a save, answered behind it, does not bring the older text back",
  async (asked) => {
    const server = new Server();
    const draft = await read(opened(server));
    server.edit("theirs");
    server.hold();
    const late = draft[asked]();
    await vi.advanceTimersByTimeAsync(0);
    server.holdNoMore();
    // What they wrote was seen in another way, and it was answered.
    await draft.read();
    draft.type("mine");
    await draft.save();
    await server.release();
    await late;
    expect([draft.draft?.text, draft.draft?.page?.text, draft.draft?.theirs]).toEqual([
      "mine",
      "mine",
      null,
    ]);
  },
);

test("a page that went before it was written anew, and is told of late, is not taken for gone", async () => {
  const server = new Server();
  const draft = await read(opened(server));
  server.page = null;
  server.hold();
  const late = draft.look();
  await vi.advanceTimersByTimeAsync(0);
  server.holdNoMore();
  server.page = pageOf("one", "v1");
  draft.type("mine");
  await draft.save();
  await server.release();
  await late;
  expect([draft.draft?.text, draft.draft?.theirs]).toEqual(["mine", null]);
});

test("what was typed while it was being saved is saved when the page is left", async () => {
  const server = new Server();
  const draft = await read(opened(server));
  server.hold();
  draft.type("first");
  void draft.save();
  draft.type("first and second");
  draft.close();
  await server.unhold();
  await vi.advanceTimersByTimeAsync(0);
  expect(server.written).toEqual(["first", "first and second"]);
});

test("whoever waits for all to be saved waits for a save that goes on", async () => {
  const server = new Server();
  const draft = await read(opened(server));
  server.hold();
  draft.type("first");
  void draft.save();
  let isDone = false;
  const all = draft.saveAll().then(() => {
    isDone = true;
  });
  await vi.advanceTimersByTimeAsync(0);
  expect(isDone).toBe(false);
  await server.unhold();
  await all;
  expect(server.written).toEqual(["first"]);
});

test("what cannot be saved on leaving is kept, and is there beside theirs on return", async () => {
  const server = new Server();
  const tab = new Tab();
  const left: string[] = [];
  const draft = await read(opened(server, tab, (path) => left.push(path)));
  draft.type("mine");
  server.edit("theirs");
  draft.close();
  await vi.advanceTimersByTimeAsync(0);
  expect(left).toEqual(["a.md"]);
  const again = await read(opened(server, tab));
  expect([again.draft?.text, again.draft?.theirs?.page?.text]).toEqual(["mine", "theirs"]);
  again.choose("mine");
  await vi.advanceTimersByTimeAsync(0);
  expect(server.page?.text).toBe("mine");
  expect((await read(opened(server, tab))).draft?.theirs).toBe(null);
});

test("a page that was deleted meanwhile is there again with what was typed", async () => {
  const server = new Server();
  const tab = new Tab();
  const draft = await read(opened(server, tab));
  draft.type("mine");
  server.page = null;
  draft.close();
  await vi.advanceTimersByTimeAsync(0);
  const again = await read(opened(server, tab));
  expect([again.draft?.text, again.draft?.theirs]).toEqual(["mine", { page: null }]);
  again.drop();
  const gone = await read(opened(server, tab));
  expect([gone.draft, gone.store.get().problem?.status]).toEqual([null, 404]);
});

test("changes in different places are both kept", async () => {
  const server = new Server();
  server.edit("a\nb\nc");
  const draft = await read(opened(server));
  draft.type("a\nb\nc and mine");
  server.edit("theirs\na\nb\nc");
  await draft.save();
  draft.choose("both");
  await vi.advanceTimersByTimeAsync(0);
  expect(server.page?.text).toBe("theirs\na\nb\nc and mine");
});

test("a tab without room keeps no older text in its place", async () => {
  const server = new Server();
  const tab = new Tab();
  const draft = await read(opened(server, tab));
  draft.type("first");
  draft.keep();
  tab.room = 0;
  draft.type("second, and longer");
  draft.keep();
  expect((await read(opened(server, tab))).draft?.text).toBe("one");
});

test("a failed save is tried again when asked, and told when it stays so", async () => {
  const server = new Server();
  const draft = await read(opened(server));
  const { write } = server.api;
  server.api.write = () => Promise.reject(new Problem("storage", "The disk is full", "", 503));
  draft.type("");
  await expect(draft.saveAll()).rejects.toThrow("The disk is full");
  await expect(draft.saveAll()).rejects.toThrow("The disk is full");
  server.api.write = write;
  await draft.saveAll();
  expect(server.written).toEqual([""]);
});

test("what could not be saved is saved when the server is back, or once more is typed", async () => {
  const server = new Server();
  const draft = await read(opened(server));
  const { write } = server.api;
  const away = () => Promise.reject(new Problem("unreachable", "Not responding", "", 0));
  server.api.write = away;
  draft.type("on the train");
  await vi.advanceTimersByTimeAsync(PAUSE_MS);
  expect(draft.draft?.problem?.code).toBe("unreachable");
  server.api.write = write;
  await draft.retry();
  expect(server.written).toEqual(["on the train"]);
  server.api.write = away;
  draft.type("on the train, again");
  await vi.advanceTimersByTimeAsync(PAUSE_MS);
  server.api.write = write;
  draft.type("on the train, again and again");
  await vi.advanceTimersByTimeAsync(PAUSE_MS);
  expect(server.written.at(-1)).toBe("on the train, again and again");
  expect(draft.draft?.problem).toBe(null);
});

test("a page that could not be read, or not behind a save, is read when the server is back", async () => {
  const server = new Server();
  const { page } = server.api;
  const away = () => Promise.reject(new Problem("unreachable", "Not responding", "", 0));
  server.api.page = away;
  const draft = await read(opened(server));
  server.api.page = page;
  await draft.retry();
  expect(draft.draft?.text).toBe("one");
  server.api.page = away;
  draft.type("two");
  await draft.saveNow();
  expect(draft.draft?.problem?.code).toBe("unreachable");
  server.api.page = page;
  await draft.retry();
  expect([draft.draft?.text, draft.draft?.problem]).toEqual(["two", null]);
});

test("a change that is told while the page is first read is looked at behind that", async () => {
  const server = new Server();
  const draft = opened(server);
  server.hold();
  const reading = draft.read();
  server.edit("theirs");
  await draft.look();
  await server.unhold();
  await reading;
  await vi.advanceTimersByTimeAsync(0);
  expect(draft.draft?.text).toBe("theirs");
});

test("of two changes that are looked at side by side the later is shown", async () => {
  const server = new Server();
  const draft = await read(opened(server));
  server.hold();
  server.edit("theirs");
  const earlier = draft.look();
  server.edit("theirs, again");
  const later = draft.look();
  await server.unhold();
  await Promise.all([earlier, later]);
  expect(draft.draft?.text).toBe("theirs, again");
});
