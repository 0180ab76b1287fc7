// The list of conversations, newest first, a page at a time, with the projects that they belong to.
import { api, asProblem, type ListQuery, type Problem } from "../api/client";
import { type Project, type ProjectDraft, type ProjectPatch, projectsApi } from "../api/projects";
import type { Conversation, ConversationPatch } from "../api/types";
import { Store } from "./store";

/** Which of them are listed: those in use, put away, or thrown away. */
export type Place = "list" | "archive" | "trash";

export type ConversationList = {
  items: readonly Conversation[];
  projects: readonly Project[];
  cursor: string | null;
  /** How many there are, also those that are not read yet. */
  total: number;
  place: Place;
  loaded: boolean;
  loading: boolean;
  problem: Problem | null;
};

const PAGE = 50;
/** Times are written alike, so that they have the order of their characters. */
const newestFirst = (a: Conversation, b: Conversation) =>
  a.updated_at < b.updated_at ? 1 : a.updated_at > b.updated_at ? -1 : 0;

function merged(known: readonly Conversation[], fresh: readonly Conversation[]) {
  const byId = new Map([...known, ...fresh].map((each) => [each.id, each]));
  return [...byId.values()].sort(newestFirst);
}

const nothing: ConversationList = {
  items: [],
  projects: [],
  cursor: null,
  total: 0,
  place: "list",
  loaded: false,
  loading: false,
  problem: null,
};

export const placeOf = (conversation: Conversation): Place =>
  conversation.trashed_at ? "trash" : conversation.archived ? "archive" : "list";

const asked = (place: Place): ListQuery =>
  place === "trash" ? { trashed: true } : { archived: place === "archive" };

export class ConversationsService {
  readonly store = new Store<ConversationList>(nothing);
  /** Those that wait for somebody's decision, whatever is listed. */
  readonly needing = new Store<readonly string[]>([]);

  /** How often the newest page was asked for: only the answer to the last question counts. */
  #asked = 0;
  #first: Promise<void> | null = null;
  /** How often a conversation was changed from here: an answer from before tells it as it was. */
  #changed = 0;

  /** Reads the newest page anew and keeps the older ones that are shown. */
  refresh = async (): Promise<void> => {
    this.#asked += 1;
    const mine = this.#asked;
    const { place } = this.store.get();
    this.store.change({ loading: true });
    try {
      const page = await this.#current(() => api.conversations({ limit: PAGE, ...asked(place) }));
      if (mine !== this.#asked) return;
      const now = this.store.get();
      const oldest = page.items.at(-1)?.updated_at ?? "";
      const kept = page.cursor ? now.items.filter((each) => each.updated_at < oldest) : [];
      const cursor = kept.some((each) => !each.pinned) ? now.cursor : page.cursor;
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

  /** Reads what stands before all others, however long ago it was used: pinned ones, those that need an answer, and projects. */
  refreshFirst = (): Promise<void> => {
    this.#first ??= this.#readFirst().finally(() => {
      this.#first = null;
    });
    return this.#first;
  };

  async #readFirst(): Promise<void> {
    try {
      const [pinned, needing, { items: projects }] = await Promise.all([
        this.#current(() => api.conversations({ limit: PAGE, pinned: true })),
        this.#current(() => api.conversations({ limit: PAGE, needs_you: true })),
        projectsApi.list(),
      ]);
      this.store.change({ projects });
      const inUse = needing.items.filter((each) => placeOf(each) === "list");
      this.needing.set(inUse.map(({ id }) => id));
      if (this.store.get().place !== "list") return;
      const first = [...pinned.items, ...inUse];
      this.store.change({ items: merged(this.store.get().items, first) });
    } catch {
      // They come with the next look; the list itself tells of a failure.
    }
  }

  /** Reads the newest conversations of a project. */
  readProject = async (project: string): Promise<void> => {
    try {
      const page = await this.#current(() => api.conversations({ limit: PAGE, project }));
      if (this.store.get().place !== "list") return;
      this.store.change({ items: merged(this.store.get().items, page.items) });
    } catch {
      // What is known of it stays shown.
    }
  };

  more = async (): Promise<void> => {
    const { cursor, place, loading } = this.store.get();
    if (!cursor || loading) return;
    this.store.change({ loading: true, problem: null });
    const isShown = () => this.store.get().place === place;
    try {
      const page = await this.#current(() =>
        api.conversations({ limit: PAGE, cursor, ...asked(place) }),
      );
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

  show = (place: Place): void => {
    const { place: before, projects } = this.store.get();
    if (place === before) return;
    this.store.change({ ...nothing, place, projects });
    void this.refresh();
    if (place === "list") void this.refreshFirst();
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
    this.#need(conversation.id, conversation.needs_you && placeOf(conversation) === "list");
    const { items, place, total } = this.store.get();
    const others = items.filter((each) => each.id !== conversation.id);
    const mine = placeOf(conversation) === place ? [conversation] : [];
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
    this.gone(id);
  };

  /** Takes in that a conversation is not there any more. */
  gone = (id: string): void => {
    this.#changed += 1;
    this.#need(id, false);
    const { items, total } = this.store.get();
    const left = items.filter((each) => each.id !== id);
    this.store.change({ items: left, total: total + left.length - items.length });
  };

  #need(id: string, on: boolean): void {
    const now = this.needing.get();
    if (now.includes(id) !== on) this.needing.set(on ? [...now, id] : now.filter((x) => x !== id));
  }

  makeProject = async (draft: ProjectDraft): Promise<Project> => {
    const project = await projectsApi.create(draft);
    this.store.change({ projects: [...this.store.get().projects, project] });
    return project;
  };

  changeProject = async (id: string, patch: ProjectPatch): Promise<Project> => {
    const project = await projectsApi.change(id, patch);
    const { projects } = this.store.get();
    this.store.change({ projects: projects.map((each) => (each.id === id ? project : each)) });
    return project;
  };

  removeProject = async (id: string): Promise<void> => {
    await projectsApi.remove(id);
    const { projects } = this.store.get();
    this.store.change({ projects: projects.filter((each) => each.id !== id) });
    await this.refresh();
  };
}
