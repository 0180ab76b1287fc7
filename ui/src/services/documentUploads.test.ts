import { expect, test, vi } from "vitest";
import { Problem } from "../api/client";
import type { UploadsApi } from "../api/documents";
import type { UploadDraft, UploadShown } from "../contract/openapi";
import { DocumentUploads } from "./documentUploads";
import type { KeptFile, KeptFiles } from "./keptFiles";

class FakeFiles implements KeptFiles {
  held = new Map<string, KeptFile>();
  /** Keys that another tab sends. */
  elsewhere = new Set<string>();

  put = async (kept: KeptFile) => void this.held.set(kept.key, kept);
  all = async () => [...this.held.values()];
  remove = async (key: string) => void this.held.delete(key);
  clear = async () => this.held.clear();
  alone = async (key: string, act: () => Promise<void>) => {
    if (this.elsewhere.has(key)) return false;
    await act();
    return true;
  };
}

const away = () => new Problem("unreachable", "Bethink is not responding", "", 0);

/** A server that keeps what it gets; `refuse` says how it refuses the next part. */
class FakeServer implements UploadsApi {
  got = new Map<string, UploadDraft & { offset: number }>();
  offsets: number[] = [];
  refuse: (() => Error | undefined) | null = null;
  #next = 1;

  begin = async (body: UploadDraft) => {
    const id = `u${this.#next++}`;
    this.got.set(id, { ...body, offset: 0 });
    return this.#told(id);
  };
  state = async (id: string) => this.#told(id);
  drop = async (id: string) => void this.got.delete(id);
  part: UploadsApi["part"] = async (id, offset, part) => {
    const fault = this.refuse?.();
    if (fault) throw fault;
    this.offsets.push(offset);
    const upload = this.got.get(id);
    if (upload) upload.offset = offset + part.size;
    return this.#told(id);
  };

  #told(id: string): UploadShown {
    const upload = this.got.get(id);
    if (!upload) throw new Problem("unknown_id", "Upload not found", "", 404);
    const { offset, size, name } = upload;
    const document = offset >= size ? ({ name } as UploadShown["document"]) : null;
    return { id, offset, expires_at: "", document };
  }
}

function set(kept = new FakeFiles(), server = new FakeServer()) {
  let key = 0;
  const onDone = vi.fn();
  const api = () => Promise.resolve(server);
  const uploads = new DocumentUploads({ api, kept, onDone, newKey: () => `k${++key}` });
  return { uploads, kept, server, onDone };
}

const file = (name: string, size = 3) => new File([new Uint8Array(size)], name);
const states = ({ uploads }: ReturnType<typeof set>) =>
  uploads.store.get().map(({ name, state }) => `${name} ${state}`);

test("a file goes in parts, and is kept no more once it is there", async () => {
  const all = set();
  all.uploads.add([{ file: file("long.pdf", 17_000_000), collection: "c1" }]);
  await vi.waitFor(() => expect(states(all)).toEqual(["long.pdf done"]));
  expect(all.server.offsets).toEqual([0, 8_000_000, 16_000_000]);
  expect([...all.server.got.values()][0]).toMatchObject({ collection: "c1" });
  expect(all.onDone).toHaveBeenCalledOnce();
  await vi.waitFor(() => expect(all.kept.held.size).toBe(0));
  all.uploads.clear();
  expect(all.uploads.store.get()).toEqual([]);
});

test("after a reload it goes on behind what the server has", async () => {
  const before = set();
  let parts = 0;
  before.server.refuse = () => (++parts > 1 ? away() : undefined);
  before.uploads.add([{ file: file("long.pdf", 17_000_000) }]);
  await vi.waitFor(() => expect(states(before)).toEqual(["long.pdf lost"]));
  before.server.refuse = null;
  const after = set(before.kept, before.server);
  await after.uploads.takeUp();
  await vi.waitFor(() => expect(states(after)).toEqual(["long.pdf done"]));
  expect(after.server.offsets).toEqual([0, 8_000_000, 16_000_000]);
});

test("an upload that the server has forgotten begins anew", async () => {
  const kept = new FakeFiles();
  await kept.put({ key: "old", file: file("a.txt"), collection: null, upload: "gone" });
  const all = set(kept);
  await all.uploads.takeUp();
  await vi.waitFor(() => expect(states(all)).toEqual(["a.txt done"]));
});

test("what is refused says why, lets the next one go, and goes on when asked", async () => {
  const all = set();
  all.server.refuse = () => new Problem("too_large", "Too large", "There is no room.", 413);
  all.uploads.add([{ file: file("a.txt") }]);
  await vi.waitFor(() => expect(states(all)).toEqual(["a.txt failed"]));
  expect(all.uploads.store.get()[0]?.problem?.detail).toBe("There is no room.");
  all.server.refuse = null;
  all.uploads.add([{ file: file("b.txt") }]);
  await vi.waitFor(() => expect(states(all)).toEqual(["a.txt failed", "b.txt done"]));
  expect(all.kept.held.size).toBe(0);
  all.uploads.retry("k1");
  await vi.waitFor(() => expect(states(all)).toEqual(["a.txt done", "b.txt done"]));
});

test("two go at once and the others wait; one that is taken out goes at the server, too", async () => {
  const all = set();
  let open: () => void = () => undefined;
  const gate = new Promise<void>((go) => {
    open = go;
  });
  const { part } = all.server;
  all.server.part = async (...given) => {
    await gate;
    return part(...given);
  };
  all.uploads.add(["a", "b", "c"].map((name) => ({ file: file(name) })));
  await vi.waitFor(() => expect(all.server.got.size).toBe(2));
  expect(states(all)).toEqual(["a going", "b going", "c waiting"]);
  all.uploads.remove("k1");
  open();
  await vi.waitFor(() => expect(states(all)).toEqual(["b done", "c done"]));
  await vi.waitFor(() =>
    expect([...all.server.got.values()].map(({ name }) => name)).toEqual(["b", "c"]),
  );
});

test("what another tab sends is not sent twice", async () => {
  const kept = new FakeFiles();
  await kept.put({ key: "theirs", file: file("a.txt"), collection: null, upload: null });
  kept.elsewhere.add("theirs");
  const all = set(kept);
  await all.uploads.takeUp();
  await vi.waitFor(() => expect(all.uploads.store.get()).toEqual([]));
  expect([all.server.got.size, kept.held.size]).toEqual([0, 1]);
});

test("a newer version says whose it is, also after a reload", async () => {
  const { uploads, server, kept } = set();
  server.refuse = () => new Problem("broken", "Out of order", "", 500);
  uploads.add([{ file: file("b.pdf"), versionOf: "d1" }]);
  await vi.waitFor(() => expect(uploads.store.get()[0]?.state).toBe("failed"));
  expect([...server.got.values()][0]?.version_of).toBe("d1");
  const later = set(kept, server);
  server.refuse = null;
  await later.uploads.takeUp();
  expect(later.uploads.store.get()[0]?.versionOf).toBe("d1");
  await vi.waitFor(() => expect(later.uploads.store.get()[0]?.state).toBe("done"));
});
