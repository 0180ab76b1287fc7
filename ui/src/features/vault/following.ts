// All pages of the vault, followed as they change: told by the server as it happens, asked for where it does not tell.
import { asProblem, type Problem } from "../../api/client";
import type { VaultEntry, VaultNews, VaultTree } from "../../api/types";
import type { SharedSource, SourceHooks, Told } from "../../services/sharedSource";
import { Store } from "../../services/store";

/** How often the server is asked while no stream tells. */
export const EVERY_MS = 2000;

export type Entries = ReadonlyMap<string, VaultEntry>;
export type Notes = VaultTree["notes"];
export type Followed = {
  /** Pages and folders by path; null until they were read. What changed is another object. */
  entries: Entries | null;
  problem: Problem | null;
  /** Where notes of days and templates lie; null until it was read. */
  notes: Notes | null;
};

type Api = { tree: () => Promise<VaultTree>; news: (after: number) => Promise<VaultNews> };
/** As much of a `SharedSource` as is needed. */
export type Source = Pick<SharedSource, "close" | "isOpen">;

function taken(entries: Entries, news: VaultNews): Entries {
  if (!news.items.length && !news.gone.length) return entries;
  const next = new Map(entries);
  for (const path of news.gone) next.delete(path);
  for (const entry of news.items) next.set(entry.path, entry);
  return next;
}

export class Following {
  readonly store = new Store<Followed>({ entries: null, problem: null, notes: null });
  #change: number | null = null;
  #looking: Promise<void> | null = null;
  #source: Source | null = null;
  /** It is wanted that the server tells. */
  #isHeard = false;

  constructor(
    readonly api: Api,
    readonly open: (hooks: SourceHooks) => Source,
  ) {}

  read = async (): Promise<void> => {
    try {
      const { items, change, notes } = await this.api.tree();
      // What is known may be newer by now than what was asked for.
      if (change < (this.#change ?? 0)) return;
      this.#change = change;
      const entries = new Map(items.map((item) => [item.path, item]));
      this.store.set({ entries, problem: null, notes });
    } catch (error) {
      this.store.change({ problem: asProblem(error) });
    }
  };

  /** Asks what changed until now; what changed after an earlier question was asked is asked for again. */
  look = async (): Promise<void> => {
    await this.#looking;
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
    });
    await this.#looking;
  };

  /** Asks where no stream tells; for all where nothing is known yet. */
  lookUnlessTold = async (): Promise<void> => {
    if (this.#change === null && this.store.get().problem) await this.#begin();
    else if (!this.#source?.isOpen) await this.look();
  };

  async #begin(): Promise<void> {
    await this.read();
    if (this.#change !== null && this.#isHeard) this.listen();
  }

  /** Has the server tell, from what is known on, or as soon as something is. */
  listen = (): void => {
    this.hush();
    this.#isHeard = true;
    if (this.#change === null) return;
    this.#source = this.open({
      address: () => `/vault/changes?after=${this.#change}`,
      place: () => String(this.#change),
      // Another tab's stream may have told much before this one heard it.
      onOpen: () => void this.look(),
      onTold: (told) => this.#hear(told),
    });
  };

  hush = (): void => {
    this.#isHeard = false;
    this.#source?.close();
    this.#source = null;
  };

  async #look(): Promise<void> {
    if (this.#change === null) return;
    try {
      this.#take(await this.api.news(this.#change));
    } catch {
      // The banner of the whole interface tells when the server is away; the next look goes on from here.
    }
  }

  #hear({ data, after }: Told): void {
    // Something was told before that this tab did not hear.
    if (Number(after) > (this.#change ?? 0)) void this.look();
    else this.#take(JSON.parse(data) as VaultNews);
  }

  #take(news: VaultNews): void {
    const { entries } = this.store.get();
    // Told twice, by the stream and in answer to a question: the later one is known already.
    if (!entries || news.change < (this.#change ?? 0)) return;
    this.#change = news.change;
    this.store.change({ entries: taken(entries, news) });
  }
}
