import { expect, test } from "vitest";
import type { ConversationFile } from "../api/types";
import { Sizes, Uploads } from "./uploads";

const file = (name: string, size = 3): ConversationFile => ({
  id: name,
  name,
  size,
  media_type: "text/plain",
  at: "2026-11-22T09:00:00Z",
  made_by: "owner",
  url: `/files/${name}`,
});

test("a message takes the files that are there, once; they can be put back", () => {
  const uploads = new Uploads(() => Promise.reject(new Error("no conversation")));
  uploads.putBack([file("a"), file("b")]);
  uploads.remove(uploads.store.get()[0]?.key ?? -1);
  const taken = uploads.take();
  expect(taken.map(({ name }) => name)).toEqual(["b"]);
  expect(uploads.store.get()).toEqual([]);
  uploads.putBack(taken);
  expect(uploads.store.get()).toMatchObject([{ name: "b", gone: 1, problem: null }]);
});

test("a file whose conversation cannot be made stays, and says why", async () => {
  const uploads = new Uploads(() => Promise.reject(new Error("no conversation")));
  uploads.add([new File(["abc"], "a.txt")]);
  expect(uploads.store.get()).toMatchObject([{ name: "a.txt", size: 3, file: null }]);
  await Promise.resolve().then(() => undefined);
  await Promise.resolve();
  expect(uploads.store.get()[0]?.problem?.detail).toBe("no conversation");
  expect(uploads.take()).toEqual([]);
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
