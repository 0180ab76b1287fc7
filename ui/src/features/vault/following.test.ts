import { expect, test } from "vitest";
import type { VaultEntry, VaultNews } from "../../api/types";
import type { SourceHooks } from "../../services/sharedSource";
import { Following } from "./following";

const entry = (path: string, size = 1): VaultEntry => ({
  path,
  size,
  is_folder: false,
  changed_at: null,
  problem: null,
});
const newsOf = (change: number, items: VaultEntry[], gone: string[] = []): VaultNews => ({
  change,
  items,
  gone,
});

/** A server whose questions are answered when the test says so. */
class Server {
  isAway = false;
  readonly asked: { after: number; answer: (news: VaultNews) => void }[] = [];
  readonly opened: { address: string; hooks: SourceHooks }[] = [];
  readonly following = new Following(
    {
      tree: async () => {
        if (this.isAway) throw new TypeError("no route");
        const items = [entry("user.md")];
        const notes = { daily_folder: "daily", daily_name: "YYYY-MM-DD", templates: "templates" };
        return { items, change: 5, pages: 1, bytes: 1, watching: true, notes };
      },
      news: (after) => new Promise((answer) => this.asked.push({ after, answer })),
    },
    (hooks) => {
      this.opened.push({ address: hooks.address(), hooks });
      return { isOpen: true, close: () => undefined };
    },
  );

  tell(news: VaultNews | string, after = 5): void {
    const data = typeof news === "string" ? news : JSON.stringify(news);
    this.opened.at(-1)?.hooks.onTold({ data, after: String(after) });
  }
  get sizes() {
    const { entries } = this.following.store.get();
    return Object.fromEntries([...(entries?.values() ?? [])].map(({ path, size }) => [path, size]));
  }
}

async function begun(): Promise<Server> {
  const server = new Server();
  await server.following.read();
  server.following.listen();
  return server;
}

test("what the server tells is taken in, from what was read on", async () => {
  const server = await begun();
  expect(server.opened[0]?.address).toBe("/vault/changes?after=5");
  server.tell(newsOf(6, [entry("a.md")]));
  server.tell(newsOf(7, [], ["user.md"]));
  expect(server.sizes).toEqual({ "a.md": 1 });
  server.following.listen();
  expect(server.opened[1]?.address).toBe("/vault/changes?after=7");
});

test("while it is told nothing is asked, and without a stream it is", async () => {
  const server = await begun();
  await server.following.lookUnlessTold();
  expect(server.asked.length).toBe(0);
  server.following.hush();
  void server.following.lookUnlessTold();
  await Promise.resolve();
  expect(server.asked.map(({ after }) => after)).toEqual([5]);
});

test("an answer that comes behind newer news does not undo it", async () => {
  const server = await begun();
  const looked = server.following.look();
  await Promise.resolve();
  server.tell(newsOf(8, [entry("user.md", 8)]));
  server.asked[0]?.answer(newsOf(6, [entry("user.md", 6)]));
  await looked;
  expect(server.sizes).toEqual({ "user.md": 8 });
  server.following.listen();
  expect(server.opened.at(-1)?.address).toBe("/vault/changes?after=8");
});

test("who looks while an earlier look goes on gets what changed since that", async () => {
  const server = await begun();
  const first = server.following.look();
  await Promise.resolve();
  const second = server.following.look();
  server.asked[0]?.answer(newsOf(6, []));
  await first;
  await new Promise((done) => setTimeout(done));
  expect(server.asked.map(({ after }) => after)).toEqual([5, 6]);
  server.asked[1]?.answer(newsOf(7, [entry("new.md")]));
  await second;
  expect(server.sizes).toEqual({ "user.md": 1, "new.md": 1 });
});

test("what another tab's stream told before this one heard it is asked for", async () => {
  const server = await begun();
  server.tell(newsOf(9, [entry("late.md")]), 8);
  expect(server.sizes).toEqual({ "user.md": 1 });
  await Promise.resolve();
  expect(server.asked.map(({ after }) => after)).toEqual([5]);
  server.asked[0]?.answer(newsOf(9, [entry("early.md"), entry("late.md")]));
  await new Promise((done) => setTimeout(done));
  expect(server.sizes).toEqual({ "user.md": 1, "early.md": 1, "late.md": 1 });
});

test("what did not change is the same object, so that only what did is looked at again", async () => {
  const server = await begun();
  const before = server.following.store.get().entries;
  server.tell(newsOf(6, []));
  expect(server.following.store.get().entries).toBe(before);
  server.tell(newsOf(7, [entry("a.md")]));
  expect(server.following.store.get().entries?.get("user.md")).toBe(before?.get("user.md"));
});

test("a vault that could not be read at first is read and followed once it can be", async () => {
  const server = new Server();
  server.isAway = true;
  await server.following.read();
  server.following.listen();
  expect(server.following.store.get().problem?.title).toBe("Bethink is not responding");
  server.isAway = false;
  await server.following.lookUnlessTold();
  expect(server.sizes).toEqual({ "user.md": 1 });
  expect(server.opened.map(({ address }) => address)).toEqual(["/vault/changes?after=5"]);
});
