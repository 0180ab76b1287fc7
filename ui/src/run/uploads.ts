// Files on their way into a conversation: going up, there, or refused, until a message takes them along.
import { asProblem, type Problem } from "../api/client";
import type { Attachment, ConversationFile } from "../api/types";
import { upload } from "../api/upload";
import { Store } from "../services/store";

/** A file of the conversation that a message takes along. */
export type SentFile = Attachment & { id: string; size?: number };

export type Upload = {
  key: number;
  name: string;
  size: number;
  /** 0 to 1. */
  gone: number;
  file: SentFile | null;
  problem: Problem | null;
};

export class Uploads {
  readonly store = new Store<readonly Upload[]>([]);
  #conversation: () => Promise<string>;
  #next = 1;
  #going = new Map<number, { content: File; abort: AbortController }>();

  /** `conversation` gives the id of the conversation, which is made where there is none yet. */
  constructor(conversation: () => Promise<string>) {
    this.#conversation = conversation;
  }

  add = (files: Iterable<File>): void => {
    for (const content of files) {
      const key = this.#next++;
      const { name, size } = content;
      this.store.set([
        ...this.store.get(),
        { key, name, size, gone: 0, file: null, problem: null },
      ]);
      this.#going.set(key, { content, abort: new AbortController() });
      void this.#send(key);
    }
  };

  retry = (key: number): void => {
    this.#change(key, { problem: null, gone: 0 });
    void this.#send(key);
  };

  remove = (key: number): void => {
    this.#going.get(key)?.abort.abort();
    this.#going.delete(key);
    this.store.set(this.store.get().filter((each) => each.key !== key));
  };

  /** The files that are there; they are a message's from now on. */
  take = (): SentFile[] => {
    const there = this.store.get().filter((each) => each.file);
    for (const { key } of there) this.remove(key);
    return there.flatMap(({ file }) => (file ? [file] : []));
  };

  /** Takes files back of which no message was made. */
  putBack = (files: readonly SentFile[]): void => {
    const back = files.map((file): Upload => {
      const { name, size = 0 } = file;
      return { key: this.#next++, name, size, gone: 1, file, problem: null };
    });
    this.store.set([...this.store.get(), ...back]);
  };

  #change(key: number, patch: Partial<Upload>): void {
    this.store.set(
      this.store.get().map((each) => (each.key === key ? { ...each, ...patch } : each)),
    );
  }

  async #send(key: number): Promise<void> {
    const going = this.#going.get(key);
    if (!going) return;
    const { signal } = going.abort;
    const onProgress = (gone: number) => this.#change(key, { gone });
    try {
      const conversation = await this.#conversation();
      const file = await upload(conversation, going.content, { onProgress, signal });
      this.#change(key, { file, name: file.name, gone: 1 });
    } catch (error) {
      if (!signal.aborted) this.#change(key, { problem: asProblem(error) });
    }
  }
}

/** How large the files of a conversation are, by their addresses: messages name them without it. */
export class Sizes {
  readonly store = new Store<ReadonlyMap<string, number>>(new Map());
  #read: () => Promise<readonly ConversationFile[]>;
  #asked = new Set<string>();

  constructor(read: () => Promise<readonly ConversationFile[]>) {
    this.#read = read;
  }

  /** Sees to it that the size of a file gets known, at the price of one request for all. */
  want = async (url: string): Promise<void> => {
    if (this.#asked.has(url) || this.store.get().has(url)) return;
    const first = this.#asked.size === 0;
    this.#asked.add(url);
    if (!first) return;
    try {
      this.know(await this.#read());
    } catch {
      // A size is told where it is known; the file can be had without.
    }
    this.#asked.clear();
  };

  know = (files: readonly Pick<SentFile, "url" | "size">[]): void =>
    this.store.set(
      new Map([
        ...this.store.get(),
        ...files.flatMap(({ url, size }) => (size === undefined ? [] : [[url, size] as const])),
      ]),
    );
}
