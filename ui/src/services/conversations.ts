// The list of conversations, newest first, a page at a time.
import { api, asProblem, type Problem } from "../api/client";
import type { Conversation } from "../api/types";
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

export class ConversationsService {
  readonly store = new Store<ConversationList>({
    items: [],
    cursor: null,
    total: 0,
    archived: false,
    loaded: false,
    loading: false,
    problem: null,
  });

  /** Reads the newest page anew and keeps the older ones that are shown. */
  refresh = async (): Promise<void> => {
    const { archived } = this.store.get();
    this.store.change({ loading: true });
    try {
      const page = await api.conversations({ limit: 50, archived });
      const now = this.store.get();
      if (now.archived !== archived) return;
      const oldest = page.items.at(-1)?.updated_at ?? "";
      const kept = page.cursor ? now.items.filter((each) => each.updated_at < oldest) : [];
      const cursor = kept.length ? now.cursor : page.cursor;
      const items = merged(kept, page.items);
      const { total } = page;
      this.store.change({ items, cursor, total, loaded: true, loading: false, problem: null });
    } catch (error) {
      this.store.change({ loading: false, problem: asProblem(error) });
    }
  };

  more = async (): Promise<void> => {
    const { cursor, archived, loading, items } = this.store.get();
    if (!cursor || loading) return;
    this.store.change({ loading: true });
    try {
      const page = await api.conversations({ limit: 50, cursor, archived });
      this.store.change({ items: merged(items, page.items), cursor: page.cursor, loading: false });
    } catch (error) {
      this.store.change({ loading: false, problem: asProblem(error) });
    }
  };

  show = (archived: boolean): void => {
    if (archived === this.store.get().archived) return;
    this.store.change({ archived, items: [], cursor: null, total: 0, loaded: false });
    void this.refresh();
  };

  /** Takes in what is newly known of one conversation. */
  put = (conversation: Conversation): void => {
    if (conversation.temporary) return;
    const { items, archived, total } = this.store.get();
    const others = items.filter((each) => each.id !== conversation.id);
    const mine = conversation.archived === archived ? [conversation] : [];
    // Gone from this list is known for sure; new to it may be one of a page that is not read yet.
    const gone = Math.min(0, others.length + mine.length - items.length);
    this.store.change({ items: merged(others, mine), total: total + gone });
  };

  rename = async (id: string, title: string): Promise<void> => {
    this.put(await api.patchConversation(id, { title }));
  };

  archive = async (id: string, archived: boolean): Promise<void> => {
    this.put(await api.patchConversation(id, { archived }));
  };

  remove = async (id: string): Promise<void> => {
    await api.deleteConversation(id);
    const { items, total } = this.store.get();
    const left = items.filter((each) => each.id !== id);
    this.store.change({ items: left, total: total + left.length - items.length });
  };
}
