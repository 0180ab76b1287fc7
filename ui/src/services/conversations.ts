// The list of conversations, newest first, a page at a time.
import { api, asProblem, type Problem } from "../api/client";
import type { Conversation, ConversationPatch } from "../api/types";
import { Store } from "./store";

export type ConversationList = {
  items: readonly Conversation[];
  cursor: string | null;
  /** How many there are, also those that are not read yet. */
  total: number;
  archived: boolean;
  loaded: boolean;
  loading: boolean;
  problem: Problem | null;
};

const newestFirst = (a: Conversation, b: Conversation) => b.updated_at.localeCompare(a.updated_at);

function merged(known: readonly Conversation[], fresh: readonly Conversation[]) {
  const byId = new Map([...known, ...fresh].map((each) => [each.id, each]));
  return [...byId.values()].sort(newestFirst);
}

const nothing: ConversationList = {
  items: [],
  cursor: null,
  total: 0,
  archived: false,
  loaded: false,
  loading: false,
  problem: null,
};

export class ConversationsService {
  readonly store = new Store<ConversationList>(nothing);

  /** How often the newest page was asked for: only the answer to the last question counts. */
  #asked = 0;
  /** How often a conversation was changed from here: an answer from before tells it as it was. */
  #changed = 0;

  /** Reads the newest page anew and keeps the older ones that are shown. */
  refresh = async (): Promise<void> => {
    this.#asked += 1;
    const mine = this.#asked;
    const { archived } = this.store.get();
    this.store.change({ loading: true });
    try {
      const page = await this.#current(() => api.conversations({ limit: 50, archived }));
      if (mine !== this.#asked) return;
      const now = this.store.get();
      const oldest = page.items.at(-1)?.updated_at ?? "";
      const kept = page.cursor ? now.items.filter((each) => each.updated_at < oldest) : [];
      const cursor = kept.length ? now.cursor : page.cursor;
      const items = merged(kept, page.items);
      const { total } = page;
      this.store.change({ items, cursor, total, loaded: true, loading: false, problem: null });
    } catch (error) {
      if (mine !== this.#asked) return;
      // What is listed stays; that the server is away is told of for the whole page.
      const problem = this.store.get().loaded ? null : asProblem(error);
      this.store.change({ loading: false, problem });
    }
  };

  more = async (): Promise<void> => {
    const { cursor, archived, loading } = this.store.get();
    if (!cursor || loading) return;
    this.store.change({ loading: true, problem: null });
    const isShown = () => this.store.get().archived === archived;
    try {
      const page = await this.#current(() => api.conversations({ limit: 50, cursor, archived }));
      if (!isShown()) return;
      const now = this.store.get();
      // What was read since is newer, and so is the way on from there.
      const next = now.cursor === cursor ? page.cursor : now.cursor;
      this.store.change({ items: merged(page.items, now.items), cursor: next, loading: false });
    } catch (error) {
      if (isShown()) this.store.change({ loading: false, problem: asProblem(error) });
    }
  };

  /** An answer that was given after the last change from here; asked for again where one came between. */
  async #current<T>(ask: () => Promise<T>): Promise<T> {
    for (;;) {
      const changed = this.#changed;
      const answer = await ask();
      if (changed === this.#changed) return answer;
    }
  }

  show = (archived: boolean): void => {
    if (archived === this.store.get().archived) return;
    this.store.change({ ...nothing, archived });
    void this.refresh();
  };

  /** Called before a conversation is read: gives what takes the answer in, if nothing was changed since. */
  asking = (): ((conversation: Conversation) => void) => {
    const changed = this.#changed;
    return (conversation) => {
      if (changed === this.#changed) this.put(conversation);
      else void this.refresh();
    };
  };

  /** Takes in what is newly known of one conversation. */
  put = (conversation: Conversation): void => {
    if (conversation.temporary) return;
    this.#changed += 1;
    const { items, archived, total } = this.store.get();
    const others = items.filter((each) => each.id !== conversation.id);
    const mine = conversation.archived === archived ? [conversation] : [];
    // Gone from this list is known for sure; new to it may be one of a page that is not read yet.
    const gone = Math.min(0, others.length + mine.length - items.length);
    this.store.change({ items: merged(others, mine), total: total + gone });
  };

  change = async (id: string, patch: ConversationPatch): Promise<Conversation> => {
    const conversation = await api.patchConversation(id, patch);
    this.put(conversation);
    return conversation;
  };

  remove = async (id: string): Promise<void> => {
    await api.deleteConversation(id);
    this.#changed += 1;
    const { items, total } = this.store.get();
    const left = items.filter((each) => each.id !== id);
    this.store.change({ items: left, total: total + left.length - items.length });
  };
}
