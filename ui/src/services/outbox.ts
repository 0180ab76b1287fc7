// What is written while the server cannot be reached: kept by the browser for its writer, and sent in order when the
// server is back. Messages of a conversation have a queue of their own (run/session.ts).
import { asProblem, CONNECTION_BACK, make } from "../api/client";
import { Store } from "./store";

/** A request that makes something, as it would have been sent. */
export type Writing = {
  path: string;
  body: unknown;
  words: string;
  /** The server makes one thing of it, also if an answer was lost and it is sent again. */
  key: string;
};
export type Waiting = Writing & {
  id: number;
  owner: string;
  /** When it was written, in milliseconds: `tomorrow` means the day after that. */
  at: number;
  /** Why the server did not take it. */
  problem?: string;
};

const DATABASE = "bethink-outbox";
const WRITINGS = "writings";
const startOfDay = (time: number) => new Date(time).setHours(0, 0, 0, 0);

/** Days in words would mean others by now: its writer sends it. */
export const isOld = ({ at }: Waiting, now: number): boolean => startOfDay(at) !== startOfDay(now);

type Hooks = {
  owner: () => string;
  ready: Promise<unknown>;
  /** It is there; what it is may be shown. */
  onSent: (sent: Waiting) => void;
};

export class Outbox {
  /** What its owner has waiting, in the order in which it was written. */
  readonly store = new Store<readonly Waiting[]>([]);
  #hooks: Hooks;
  #opened: Promise<IDBDatabase> | undefined;

  constructor(hooks: Hooks) {
    this.#hooks = hooks;
  }

  start(): void {
    addEventListener(CONNECTION_BACK, () => void this.send());
    void this.#hooks.ready.then(() => this.send());
  }

  /** Keeps it; false if this browser keeps nothing. */
  add = async (writing: Writing): Promise<boolean> => {
    const owner = this.#hooks.owner();
    const kept = await this.#do((writings) =>
      writings.add({ ...writing, owner, at: Date.now() } satisfies Omit<Waiting, "id">),
    );
    await this.#read();
    return kept !== undefined;
  };

  remove = async (id: number): Promise<void> => {
    await this.#do((writings) => writings.delete(id));
    await this.#read();
  };

  /** Sends what waits, one after the other; with an id that one alone, also if it is old or was refused. */
  send = async (id?: number): Promise<void> => {
    await this.#read();
    if (this.store.get().length === 0) return;
    const all = async () => {
      // Another tab may have sent some of it by now.
      await this.#read();
      for (const each of this.store.get()) {
        const isMeant =
          id === undefined ? !each.problem && !isOld(each, Date.now()) : each.id === id;
        if (isMeant && !(await this.#sent(each))) return;
      }
    };
    if (navigator.locks) await navigator.locks.request(DATABASE, all);
    else await all();
    await this.#read();
  };

  /** Whoever wrote it has signed out. */
  forget = async (): Promise<void> => {
    await this.#do((writings) => writings.clear());
    this.store.set([]);
  };

  /** False if the server cannot be reached: all that is behind it waits, too. */
  async #sent(each: Waiting): Promise<boolean> {
    try {
      await make(each.path, each.body, each.key);
    } catch (error) {
      const { status, title, detail } = asProblem(error);
      if (status === 0 || status === 401) return false;
      await this.#do((writings) => writings.put({ ...each, problem: detail || title }, each.id));
      return true;
    }
    await this.#do((writings) => writings.delete(each.id));
    this.#hooks.onSent(each);
    return true;
  }

  async #read(): Promise<void> {
    const owner = this.#hooks.owner();
    const keys = await this.#do<IDBValidKey[]>((writings) => writings.getAllKeys());
    const found = await this.#do<Omit<Waiting, "id">[]>((writings) => writings.getAll());
    const all = (found ?? []).map((each, i) => ({ ...each, id: Number(keys?.[i]) }));
    this.store.set(all.filter((each) => each.owner === owner));
  }

  async #do<T>(act: (writings: IDBObjectStore) => IDBRequest): Promise<T | undefined> {
    try {
      this.#opened ??= opened();
      const writings = (await this.#opened)
        .transaction(WRITINGS, "readwrite")
        .objectStore(WRITINGS);
      return await settled<T>(act(writings));
    } catch {
      return undefined;
    }
  }
}

function opened(): Promise<IDBDatabase> {
  const request = indexedDB.open(DATABASE, 1);
  request.onupgradeneeded = () =>
    request.result.createObjectStore(WRITINGS, { autoIncrement: true });
  return settled(request);
}

function settled<T>(request: IDBRequest): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result as T);
    request.onerror = () => reject(request.error);
  });
}
