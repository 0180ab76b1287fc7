// Files on their way into the library: in parts, one after the other, over lost connections and reloads.
// Whoever leaves the room has them go on.
import { asProblem, CONNECTION_BACK, type Problem } from "../api/client";
import type { UploadsApi } from "../api/documents";
import type { UploadShown } from "../contract/openapi";
import type { KeptFile, KeptFiles } from "./keptFiles";
import { Store } from "./store";

export type DocumentUpload = {
  key: string;
  name: string;
  size: number;
  collection: string | null;
  /** The document whose newer version it is. */
  versionOf: string | null;
  /** Bytes that the server has. */
  gone: number;
  state: "waiting" | "going" | "lost" | "failed" | "done";
  problem: Problem | null;
};

const PART_BYTES = 8_000_000;
const AT_ONCE = 2;
const AGAIN_MS = [1000, 2000, 5000, 15_000] as const;
/** Refusals of a part that another look at what the server has can mend. */
const OUT_OF_STEP = [404, 409, 410];

type Opened = { upload: string; offset: number; isThere: boolean };
type Given = { file: File; collection?: string | null | undefined; versionOf?: string };
type Hooks = {
  api: () => Promise<UploadsApi>;
  kept: KeptFiles;
  /** A file is there as a document. */
  onDone: () => void;
  newKey?: () => string;
};

export class DocumentUploads {
  readonly store = new Store<readonly DocumentUpload[]>([]);
  #files = new Map<string, KeptFile>();
  #aborts = new Map<string, AbortController>();
  #hooks: Hooks;

  constructor(hooks: Hooks) {
    this.#hooks = hooks;
  }

  /** Goes on with what an earlier visit did not end. */
  takeUp = async (): Promise<void> => {
    for (const kept of await this.#hooks.kept.all()) {
      if (!this.#files.has(kept.key)) this.#enqueue(kept);
    }
    this.#next();
  };

  add = (given: readonly Given[]): void => {
    for (const { file, collection = null, versionOf = null } of given) {
      const key = this.#hooks.newKey?.() ?? crypto.getRandomValues(new Uint32Array(3)).join("-");
      const kept = { key, file, collection, versionOf, upload: null };
      this.#enqueue(kept);
      void this.#hooks.kept.put(kept);
    }
    this.#next();
  };

  retry = (key: string): void => {
    this.#change(key, { state: "waiting", problem: null });
    this.#next();
  };

  /** Takes a file out; what the server has of it goes. */
  remove = (key: string): void => {
    const upload = this.#files.get(key)?.upload;
    const isDone = this.#of(key)?.state === "done";
    this.#aborts.get(key)?.abort();
    this.#end(key);
    this.store.set(this.store.get().filter((each) => each.key !== key));
    if (upload && !isDone) {
      void this.#hooks.api().then((api) => api.drop(upload).catch(() => undefined));
    }
    this.#next();
  };

  /** Takes out of the list what has arrived. */
  clear = (): void => this.store.set(this.store.get().filter(({ state }) => state !== "done"));

  /** Forgets all that is on its way: somebody signs out. */
  forget = async (): Promise<void> => {
    for (const abort of this.#aborts.values()) abort.abort();
    this.#files.clear();
    this.store.set([]);
    await this.#hooks.kept.clear();
  };

  #enqueue(kept: KeptFile): void {
    this.#files.set(kept.key, kept);
    const { name, size } = kept.file;
    const { key, collection, versionOf = null } = kept;
    this.store.set([
      ...this.store.get(),
      { key, name, size, collection, versionOf, gone: 0, state: "waiting", problem: null },
    ]);
  }

  #of = (key: string) => this.store.get().find((each) => each.key === key);

  #change(key: string, patch: Partial<DocumentUpload>): void {
    this.store.set(
      this.store.get().map((each) => (each.key === key ? { ...each, ...patch } : each)),
    );
  }

  #next(): void {
    const list = this.store.get();
    const busy = list.filter(({ state }) => state === "going" || state === "lost").length;
    for (const { key } of list
      .filter(({ state }) => state === "waiting")
      .slice(0, AT_ONCE - busy)) {
      this.#change(key, { state: "going" });
      void this.#sendAlone(key);
    }
  }

  async #sendAlone(key: string): Promise<void> {
    if (!(await this.#hooks.kept.alone(key, () => this.#send(key)))) {
      // Another tab sends it.
      this.#files.delete(key);
      this.store.set(this.store.get().filter((each) => each.key !== key));
    }
    this.#next();
  }

  /** Settled once it has arrived, was refused, or was taken back. */
  async #send(key: string): Promise<void> {
    const abort = new AbortController();
    this.#aborts.set(key, abort);
    for (let failures = 0; !abort.signal.aborted; ) {
      try {
        await this.#sendParts(key, abort.signal, () => {
          failures = 0;
        });
        if (abort.signal.aborted) return;
        this.#change(key, { state: "done", gone: this.#of(key)?.size ?? 0 });
        this.#end(key);
        this.#hooks.onDone();
        return;
      } catch (error) {
        if (abort.signal.aborted) return;
        const problem = asProblem(error);
        const isLost = problem.status === 0 || problem.status >= 502;
        if (!isLost && !(OUT_OF_STEP.includes(problem.status) && failures < 2)) {
          this.#change(key, { state: "failed", problem });
          // What is refused would be refused again after a reload.
          if (problem.status < 500) void this.#hooks.kept.remove(key);
          return;
        }
        if (isLost) this.#change(key, { state: "lost" });
        await pause(AGAIN_MS[Math.min(failures, AGAIN_MS.length - 1)] ?? 0, abort.signal);
        failures += 1;
      }
    }
  }

  async #sendParts(key: string, signal: AbortSignal, onPart: () => void): Promise<void> {
    const kept = this.#files.get(key);
    if (!kept) return;
    const api = await this.#hooks.api();
    let { upload, offset, isThere } = await this.#open(api, kept);
    this.#change(key, { state: "going", gone: offset });
    while (!isThere && !signal.aborted) {
      const part = kept.file.slice(offset, offset + PART_BYTES);
      const before = offset;
      const onProgress = (fraction: number) =>
        this.#change(key, { gone: before + Math.floor(fraction * part.size) });
      const state = await api.part(upload, offset, part, { onProgress, signal });
      ({ id: upload, offset } = state);
      isThere = Boolean(state.document) || offset >= kept.file.size;
      this.#change(key, { gone: offset });
      onPart();
    }
  }

  /** The upload as the server has it; begun where it has none. */
  async #open(api: UploadsApi, kept: KeptFile): Promise<Opened> {
    const known = kept.upload && (await api.state(kept.upload).catch(unlessGone));
    if (known) {
      return { upload: known.id, offset: known.offset, isThere: Boolean(known.document) };
    }
    const { file, collection, versionOf } = kept;
    const { name, size, type } = file;
    const more = {
      ...(type ? { media_type: type } : {}),
      ...(collection ? { collection } : {}),
      ...(versionOf ? { version_of: versionOf } : {}),
    };
    const begun = await api.begin({ name, size, ...more });
    const now = { ...kept, upload: begun.id };
    this.#files.set(kept.key, now);
    await this.#hooks.kept.put(now);
    return { upload: begun.id, offset: begun.offset, isThere: false };
  }

  #end(key: string): void {
    this.#files.delete(key);
    this.#aborts.delete(key);
    void this.#hooks.kept.remove(key);
  }
}

function unlessGone(error: unknown): UploadShown | null {
  if ([404, 410].includes(asProblem(error).status)) return null;
  throw error;
}

/** Waits so long, or until the server answers again, or it is aborted. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const end = () => {
      clearTimeout(timer);
      globalThis.removeEventListener?.(CONNECTION_BACK, end);
      done();
    };
    const timer = setTimeout(end, ms);
    globalThis.addEventListener?.(CONNECTION_BACK, end);
    signal.addEventListener("abort", end, { once: true });
  });
}
