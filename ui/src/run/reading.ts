// Reads what is stored of a conversation into what is shown of it. An answer of the server's is of the
// time when it was asked for: what was asked or said since is newer.
import { api, asProblem, type Problem } from "../api/client";
import type { Conversation, OpenConversation } from "../api/types";
import type { Store } from "../services/store";
import { endOf, holds, olderThan, recognised, withLater } from "./past";
import { restore, withWaiting } from "./restore";
import { recordOf } from "./sent";
import type { SessionView } from "./view";

export type ReadingHooks = {
  /** Called before a conversation is read: gives what takes in its title, its time as they were then. */
  asking: () => (conversation: Conversation) => void;
  /** Something failed that no part of the page shows. */
  onFault: (problem: Problem) => void;
};

type Asked = { first?: () => void; target?: Partial<Pick<SessionView, "target">> };

/** How long behind its first answer a conversation is looked at again: the model thinks of a name for it. */
export const NAMING_MS = [2000, 6000];
const NAMING = "title";

export class Reading {
  readonly store: Store<SessionView>;
  #hooks: ReadingHooks;
  #follow: (run: string) => void;
  /** Grows with every question and with all that is said. */
  #turn = 0;
  /** Grows with what becomes known of the conversation itself. */
  #learned = 0;
  /** Where is being read for the first time; null at the end. */
  #around: number | null = null;

  /** `follow` hears a run that is going on. */
  constructor(store: Store<SessionView>, hooks: ReadingHooks, follow: (run: string) => void) {
    this.store = store;
    this.#hooks = hooks;
    this.#follow = follow;
  }

  /** What was asked for until now is not taken in any more. */
  pass = (): void => {
    this.#turn += 1;
  };

  /** Reads it anew, around a position or its end; true once what was read is shown. */
  read = async (at?: number, isDoubtful = false): Promise<boolean> => {
    const { id, status } = this.store.get();
    if (!id) return false;
    this.#around = at ?? null;
    try {
      const target = at === undefined ? {} : { target: { position: at } };
      return await this.#asked(() => api.conversation(id, { at }), { target });
    } catch (error) {
      const problem = asProblem(error);
      // What is shown stays, unless nobody knows whether it is true.
      if (status === "ready" && !isDoubtful) this.#hooks.onFault(problem);
      else this.store.change({ status: "failed", problem });
      return false;
    }
  };

  /** Shows the message at a position, which is read where it is not held; true where it was read. */
  show = async (position: number): Promise<boolean> => {
    const { turns, status, running } = this.store.get();
    if (status === "loading" && this.#around === position) return false;
    const held = status === "ready" && turns.some((turn) => holds(turn, position));
    if (!held && !running) return await this.read(position);
    this.store.change({ target: { position } });
    return false;
  };

  /** Goes over to another branch, shown around a position; `first` is called when it is about to be. */
  branch = async (id: string, branch: number, at: number, first: () => void): Promise<void> => {
    await this.#asked(
      async () => {
        await api.patchConversation(id, { branch });
        return await api.conversation(id, { at });
      },
      { first },
    );
  };

  /** Takes in what became known of the conversation itself. */
  learn = (conversation: Conversation): void => {
    this.#learned += 1;
    this.store.change({ conversation });
  };

  /** Compares with what is stored behind an answer, and takes in the name that the model gives then. */
  ended = async (): Promise<void> => {
    await this.compare(false);
    for (const pause of NAMING_MS) {
      const { conversation, turns } = this.store.get();
      const isNamed = !conversation || conversation.spent.some(({ job }) => job === NAMING);
      if (isNamed || conversation.temporary || turns.length > 1) return;
      await new Promise((done) => setTimeout(done, pause));
      await this.compare(false);
    }
  };

  /** Compares with what is stored now; `elsewhere` where nothing was said here since it was read. */
  compare = async (elsewhere: boolean): Promise<void> => {
    const { id } = this.store.get();
    if (!id) return;
    const [turn, learned, tell] = [this.#turn, this.#learned, this.#hooks.asking()];
    try {
      const open = await api.conversation(id);
      if (learned !== this.#learned) return await this.compare(elsewhere);
      if (turn === this.#turn && !this.store.get().running) this.#compared(open, elsewhere);
      this.learn(recordOf(open));
      tell(recordOf(open));
    } catch {
      // The list shows the older title until it is read again; nothing else is wrong.
    }
  };

  /**
   * Shows the answer, and with it its `target`, unless it is of an earlier time; throws what went wrong
   * unless that is.
   */
  async #asked(
    ask: () => Promise<OpenConversation>,
    { first = () => {}, target = {} }: Asked,
  ): Promise<boolean> {
    this.pass();
    const mine = this.#turn;
    const tell = this.#hooks.asking();
    try {
      const open = await ask();
      if (mine !== this.#turn) return false;
      first();
      this.#take(open, target);
      tell(recordOf(open));
      return true;
    } catch (error) {
      if (mine !== this.#turn) return false;
      throw error;
    }
  }

  #take(open: OpenConversation, target: Asked["target"] = {}): void {
    const { interrupted, waiting, message_count: count, window } = open;
    const read = recognised(restore(open.messages), this.store.get().turns, waiting);
    const shown = withWaiting(read, waiting ?? []);
    this.learn(recordOf(open));
    this.store.change({
      ...target,
      status: "ready",
      problem: null,
      turns: shown,
      older: olderThan(shown),
      newer: shown.length > 0 && (endOf(shown.at(-1)) ?? count) + 1 < count,
      paging: null,
      window: window ?? this.store.get().window,
      interrupted: interrupted?.message ?? null,
    });
    this.#hear(open);
  }

  /** What was heard gets its places, and what else was said in them; what was said elsewhere is added. */
  #compared(open: OpenConversation, elsewhere: boolean): void {
    const { turns, newer, conversation } = this.store.get();
    if (newer) return;
    if (elsewhere && conversation?.branch !== open.branch) {
      this.#take(open);
      return;
    }
    const read = recognised(restore(open.messages), turns, open.waiting);
    this.store.change({ turns: withLater(turns, withWaiting(read, open.waiting ?? [])) });
    if (elsewhere) this.#hear(open);
  }

  /** Has the answer heard that is being given somewhere. */
  #hear({ active_run: run, waiting }: OpenConversation): void {
    if (run && !waiting?.some((call) => call.run === run)) this.#follow(run);
  }
}
