// Files that are going up, kept by the browser over a reload. Signing out forgets them; another person's
// are never found.

export type KeptFile = {
  key: string;
  file: File;
  collection: string | null;
  /** The document whose newer version it is. */
  versionOf?: string | null;
  /** The upload's id at the server, once it has begun. */
  upload: string | null;
};

export interface KeptFiles {
  put: (kept: KeptFile) => Promise<void>;
  all: () => Promise<readonly KeptFile[]>;
  remove: (key: string) => Promise<void>;
  clear: () => Promise<void>;
  /** Does it, unless another tab does it already: false then. */
  alone: (key: string, act: () => Promise<void>) => Promise<boolean>;
}

const DATABASE = "bethink-uploads";
const FILES = "files";

/** Kept in IndexedDB. A browser without room for a file has it go up all the same, but not over a reload. */
export class BrowserFiles implements KeptFiles {
  #owner: () => Promise<string>;
  #opened: Promise<IDBDatabase> | undefined;

  constructor(owner: () => Promise<string>) {
    this.#owner = owner;
  }

  put = async (kept: KeptFile): Promise<void> => {
    const owner = await this.#owner();
    await this.#do("readwrite", (files) => files.put({ ...kept, owner }, kept.key));
  };

  all = async (): Promise<readonly KeptFile[]> => {
    const owner = await this.#owner();
    type Owned = KeptFile & { owner: string };
    const found = await this.#do<Owned[]>("readonly", (files) => files.getAll());
    return (found ?? []).filter((kept) => kept.owner === owner);
  };

  remove = async (key: string): Promise<void> => {
    await this.#do("readwrite", (files) => files.delete(key));
  };

  clear = async (): Promise<void> => {
    await this.#do("readwrite", (files) => files.clear());
  };

  alone = async (key: string, act: () => Promise<void>): Promise<boolean> => {
    const once = async (lock: Lock | null | true) => {
      if (lock) await act();
      return Boolean(lock);
    };
    if (!navigator.locks) return once(true);
    return navigator.locks.request(`${DATABASE} ${key}`, { ifAvailable: true }, once);
  };

  async #do<T>(
    mode: IDBTransactionMode,
    act: (files: IDBObjectStore) => IDBRequest,
  ): Promise<T | undefined> {
    try {
      this.#opened ??= opened();
      const files = (await this.#opened).transaction(FILES, mode).objectStore(FILES);
      return await settled<T>(act(files));
    } catch {
      return undefined;
    }
  }
}

function opened(): Promise<IDBDatabase> {
  const request = indexedDB.open(DATABASE, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(FILES);
  return settled(request);
}

function settled<T>(request: IDBRequest): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result as T);
    request.onerror = () => reject(request.error);
  });
}
