import { expect, test, vi } from "vitest";
import type { ConversationFile } from "../api/types";
import { Sizes, type Upload, Uploads } from "./uploads";

const file = (name: string, size = 3): ConversationFile => ({
  id: name,
  name,
  size,
  media_type: "text/plain",
  at: "2026-11-22T09:00:00Z",
  made_by: "owner",
  url: `/files/${name}`,
});

const upload = (key: number, name: string, there = true): Upload => ({
  key,
  name,
  mediaType: "text/plain",
  size: 3,
  content: null,
  gone: there ? 1 : 0.4,
  file: there ? file(name) : null,
  problem: null,
  claimed: false,
});

test("a message takes the files that are there, once; they can be taken back", () => {
  const uploads = new Uploads(() => Promise.reject(new Error("no conversation")));
  uploads.store.set([upload(1, "a"), upload(2, "b")]);
  uploads.remove(1);
  const keys = uploads.claim();
  expect(uploads.claim()).toEqual([]);
  uploads.release(keys);
  expect(uploads.claim()).toEqual(keys);
  expect(uploads.take(keys).map(({ name }) => name)).toEqual(["b"]);
  expect(uploads.store.get()).toEqual([]);
});

test("a message waits for the files that are on their way, and for no others", () => {
  const uploads = new Uploads(() => Promise.reject(new Error("no conversation")));
  uploads.store.set([upload(1, "a"), upload(2, "b", false)]);
  const keys = uploads.claim();
  uploads.store.set([...uploads.store.get(), upload(3, "c", false)]);
  expect(uploads.areThere(keys)).toBe(false);
  uploads.store.set(uploads.store.get().map((each) => (each.key === 2 ? upload(2, "b") : each)));
  expect(uploads.areThere(keys)).toBe(true);
  expect(uploads.take(keys)).toHaveLength(2);
  expect(uploads.store.get()).toMatchObject([{ name: "c" }]);
});

test("a file whose conversation cannot be made stays, and says why", async () => {
  const uploads = new Uploads(() => Promise.reject(new Error("no conversation")));
  uploads.add([new File(["abc"], "a.txt")]);
  expect(uploads.store.get()).toMatchObject([{ name: "a.txt", size: 3, file: null }]);
  await Promise.resolve().then(() => undefined);
  await Promise.resolve();
  expect(uploads.store.get()[0]?.problem?.detail).toBe("no conversation");
  expect(uploads.claim()).toEqual([]);
});

test("sizes are asked for once for all files, and again after a failure", async () => {
  let asked = 0;
  const sizes = new Sizes(() => {
    asked += 1;
    return asked === 1 ? Promise.reject(new Error("away")) : Promise.resolve([file("a", 7)]);
  });
  await Promise.all([sizes.want("/files/a"), sizes.want("/files/b")]);
  expect([asked, sizes.store.get().size]).toEqual([1, 0]);
  await sizes.want("/files/a");
  await sizes.want("/files/a");
  expect([asked, sizes.store.get().get("/files/a")]).toEqual([2, 7]);
});

test("a file that came while sizes were read is asked for behind that", async () => {
  const there = [file("a", 7)];
  const held: (() => void)[] = [];
  const sizes = new Sizes(async () => {
    const now = [...there];
    await new Promise<void>((go) => held.push(go));
    return now;
  });
  const first = sizes.want("/files/a");
  there.push(file("b", 9));
  void sizes.want("/files/b");
  held.shift()?.();
  await vi.waitFor(() => expect(held).toHaveLength(1));
  held.shift()?.();
  await first;
  expect([...sizes.store.get().values()]).toEqual([7, 9]);
});
