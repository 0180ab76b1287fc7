import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Conversation } from "../api/types";
import { ConversationsService } from "./conversations";

const conversation = (
  id: string,
  hour: number,
  patch: Partial<Conversation> = {},
): Conversation => ({
  id,
  title: id,
  created_at: "2026-11-22T08:00:00Z",
  updated_at: `2026-11-22T${String(hour).padStart(2, "0")}:00:00Z`,
  archived: false,
  temporary: false,
  pinned: false,
  unread: false,
  needs_you: false,
  trashed_at: null,
  message_count: 2,
  active_run: null,
  branch: 0,
  branch_count: 1,
  model: null,
  origin: "",
  project: null,
  spent: [],
  system: "",
  ...patch,
});

type Answer = (body: unknown) => Promise<void>;

/** Answers what was asked of the server and is not answered yet, the first question first. */
let waiting: Answer[] = [];

const page = (items: Conversation[], cursor: string | null = null) => ({
  items,
  cursor,
  total: items.length,
});

beforeEach(() => {
  waiting = [];
  const fetch = () =>
    new Promise<Partial<Response>>((resolve) => {
      waiting.push(async (body) => {
        resolve({ ok: true, status: 200, json: () => Promise.resolve(body) });
        // Everything that follows from an answer at once has happened by then.
        await new Promise((done) => setTimeout(done));
      });
    });
  vi.stubGlobal("fetch", fetch);
});
afterEach(() => vi.unstubAllGlobals());

const asked = (): Answer => {
  const first = waiting.shift();
  if (!first) throw new Error("nothing was asked");
  return first;
};
const shown = (service: ConversationsService) =>
  service.store.get().items.map(({ title }) => title);

test("an earlier answer that comes late does not take the place of a newer one", async () => {
  const service = new ConversationsService();
  void service.refresh();
  void service.refresh();
  const [earlier, later] = [asked(), asked()];
  await later(page([conversation("b", 11), conversation("a", 10)]));
  await earlier(page([conversation("a", 10)]));
  expect(shown(service)).toEqual(["b", "a"]);
  expect(service.store.get().loading).toBe(false);
});

test("a list that was read before a change from here is read again", async () => {
  const service = new ConversationsService();
  void service.refresh();
  const before = asked();
  service.put(conversation("a", 11, { title: "Renamed" }));
  await before(page([conversation("a", 10)]));
  expect(shown(service)).toEqual(["Renamed"]);
  await asked()(page([conversation("a", 11, { title: "Renamed" })]));
  expect(shown(service)).toEqual(["Renamed"]);
  expect(service.store.get().loading).toBe(false);
});

test("what was removed does not come back with the answer to an earlier question", async () => {
  const service = new ConversationsService();
  service.put(conversation("a", 10));
  void service.refresh();
  const before = asked();
  const removed = service.remove("a");
  await asked()({});
  await removed;
  await before(page([conversation("a", 10)]));
  expect(shown(service)).toEqual([]);
  await asked()(page([]));
  expect(shown(service)).toEqual([]);
});

test("older pages are put behind what is shown when they arrive, and not behind another list", async () => {
  const service = new ConversationsService();
  void service.refresh();
  await asked()(page([conversation("b", 11)], "next"));
  void service.more();
  const older = asked();
  void service.refresh();
  await asked()(page([conversation("c", 12), conversation("b", 11, { title: "B" })], "next"));
  await older(page([conversation("b", 11), conversation("a", 10)]));
  expect(shown(service)).toEqual(["c", "B", "a"]);

  service.store.change({ cursor: "next" });
  void service.more();
  const ofOthers = asked();
  service.show("archive");
  await asked()(page([conversation("z", 9, { archived: true })]));
  await ofOthers(page([conversation("a", 10)]));
  expect(shown(service)).toEqual(["z"]);
});

test("a conversation that was read before it was renamed here keeps its new name", async () => {
  const service = new ConversationsService();
  service.put(conversation("a", 10));
  const tell = service.asking();
  const renamed = service.change("a", { title: "Renamed" });
  await asked()(conversation("a", 10, { title: "Renamed" }));
  await renamed;
  tell(conversation("a", 11));
  expect(shown(service)).toEqual(["Renamed"]);
  await asked()(page([conversation("a", 11, { title: "Renamed" })]));
  expect(shown(service)).toEqual(["Renamed"]);
});
