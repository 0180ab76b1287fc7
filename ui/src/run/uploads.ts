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
  mediaType: string;
  size: number;
  /** What goes up, as long as this page has it; null for a file that was there before. */
  content: File | null;
  /** 0 to 1. */
  gone: number;
  file: SentFile | null;
  problem: Problem | null;
  /** It belongs to a message that waits for it. */
  claimed: boolean;
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
      const { name, size, type: mediaType } = content;
      const problem = this.refusal(content);
      const going = { gone: 0, file: null, problem, claimed: false };
      this.store.set([...this.store.get(), { key, name, mediaType, size, content, ...going }]);
      this.#going.set(key, { content, abort: new AbortController() });
      if (!problem) void this.#send(key);
    }
  };

  /** Has the next message take along a file that the conversation has already. */
  attach = (file: SentFile): void => {
    if (this.store.get().some((each) => each.file?.id === file.id && !each.claimed)) return;
    const { name, media_type: mediaType, size = 0 } = file;
    const there = { gone: 1, file, problem: null, claimed: false, content: null };
    this.store.set([...this.store.get(), { key: this.#next++, name, mediaType, size, ...there }]);
  };

  /** Why a file is not sent at all; whoever knows the server's limits says so. */
  refusal: (file: File) => Problem | null = () => null;

  retry = (key: number): void => {
    this.#change(key, { problem: null, gone: 0 });
    void this.#send(key);
  };

  remove = (key: number): void => {
    this.#going.get(key)?.abort.abort();
    this.#going.delete(key);
    this.store.set(this.store.get().filter((each) => each.key !== key));
  };

  /** The keys of the files that a message takes along, there or on their way; they are its own now. */
  claim = (): number[] => {
    const mine = this.store.get().filter((each) => !each.claimed && !each.problem);
    const keys = mine.map(({ key }) => key);
    this.#mark(keys, true);
    return keys;
  };

  /** Has files be the next message's again, of which no message was made. */
  release = (keys: readonly number[]): void => this.#mark(keys, false);

  /** Whether all of these have arrived that were not taken back. */
  areThere = (keys: readonly number[]): boolean =>
    this.store.get().every(({ key, file }) => file || !keys.includes(key));

  /** The files with these keys that are there. */
  those = (keys: readonly number[]): SentFile[] =>
    this.store.get().flatMap(({ key, file }) => (file && keys.includes(key) ? [file] : []));

  /** The files with these keys that are there; they are a message's from now on. */
  take = (keys: readonly number[]): SentFile[] => {
    const mine = this.store.get().filter(({ key }) => keys.includes(key));
    for (const { key } of mine) this.#going.delete(key);
    if (mine.length) this.store.set(this.store.get().filter((each) => !mine.includes(each)));
    return mine.flatMap(({ file }) => (file ? [file] : []));
  };

  #mark(keys: readonly number[], claimed: boolean): void {
    if (!keys.length) return;
    const marked = (each: Upload) => (keys.includes(each.key) ? { ...each, claimed } : each);
    this.store.set(this.store.get().map(marked));
  }

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
  /** Those that were asked for since the last reading began, which may tell nothing of them. */
  #wanted = new Set<string>();
  #isReading = false;

  constructor(read: () => Promise<readonly ConversationFile[]>) {
    this.#read = read;
  }

  /** Sees to it that the size of a file gets known, at the price of one request for all. */
  want = async (url: string): Promise<void> => {
    if (this.store.get().has(url)) return;
    this.#wanted.add(url);
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      while (this.#wanted.size) {
        this.#wanted.clear();
        this.know(await this.#read());
        for (const known of this.store.get().keys()) this.#wanted.delete(known);
      }
    } catch {
      // A size is told where it is known; the file can be had without.
      this.#wanted.clear();
    }
    this.#isReading = false;
  };

  know = (files: readonly Pick<SentFile, "url" | "size">[]): void =>
    this.store.set(
      new Map([
        ...this.store.get(),
        ...files.flatMap(({ url, size }) => (size === undefined ? [] : [[url, size] as const])),
      ]),
    );
}
