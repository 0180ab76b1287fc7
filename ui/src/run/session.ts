// One conversation as the interface holds it: its past, the answer that is being written, what waits.
// It lives on while other rooms are shown, so that an answer is never lost by looking elsewhere.
import { api, asProblem, type Problem } from "../api/client";
import type { Conversation, Decision } from "../api/types";
import { Store } from "../services/store";
import { type Arrived, events, type LinkState, type Opening } from "./link";
import { emptyRun, type Part, type Run, reduce } from "./reduce";
import { type Question, restore, type Turn, withWaiting } from "./restore";
import { type SentFile, Sizes, Uploads } from "./uploads";

/** A message as it is sent. */
export type Said = { text: string; files: readonly SentFile[] };
/** `unsent` says why a message did not get through, and what it was. */
export type ShownTurn = Turn & { unsent?: { problem: Problem; said: Said } };

export type SessionView = {
  id: string | null;
  status: "loading" | "ready" | "failed";
  problem: Problem | null;
  conversation: Conversation | null;
  turns: readonly ShownTurn[];
  /** Leads to older messages; null when all are shown. */
  older: string | null;
  loadingOlder: boolean;
  running: boolean;
  stopping: boolean;
  link: LinkState | "idle";
  interrupted: string | null;
  queue: readonly Said[];
  undone: ReadonlySet<string>;
};

const fresh: SessionView = {
  id: null,
  status: "ready",
  problem: null,
  conversation: null,
  turns: [],
  older: null,
  loadingOlder: false,
  running: false,
  stopping: false,
  link: "idle",
  interrupted: null,
  queue: [],
  undone: new Set(),
};

const withTool = (run: Run, call: string, change: Partial<Part>): Run => ({
  ...run,
  parts: run.parts.map((part) =>
    part.type === "tool" && part.call === call ? ({ ...part, ...change } as Part) : part,
  ),
});

type Following = Extract<Opening, { run: string }> | { conversation: string; said: Said };

const asOpening = ({ conversation, said }: Extract<Following, { said: Said }>): Opening => ({
  conversation,
  text: said.text,
  files: said.files.map(({ id }) => id),
});

export type SessionHooks = {
  /** Something new is known of this conversation: its title, its time. */
  onConversation: (conversation: Conversation) => void;
  onCreated: (id: string) => void;
};

export class Session {
  readonly store: Store<SessionView>;
  /** Tells open conversations apart, also before they have an id. */
  readonly key = crypto.randomUUID?.() ?? `${performance.now()}`;
  /** What was typed and not sent. */
  draft = "";
  readonly uploads = new Uploads(() => this.#made());
  readonly sizes = new Sizes(async () => (this.id ? (await api.files(this.id)).items : []));
  #hooks: SessionHooks;
  #abort = new AbortController();
  #pending: Arrived[] = [];
  #scheduled = false;
  #places = new Map<string, string>();
  /** The run that is followed by its id; null while the last turn's own is read. */
  #followed: string | null = null;
  #local = 0;
  #creating: Promise<string> | null = null;

  constructor(id: string | null, hooks: SessionHooks) {
    this.#hooks = hooks;
    this.store = new Store<SessionView>({ ...fresh, id, status: id ? "loading" : "ready" });
    if (id) void this.load();
  }

  get id(): string | null {
    return this.store.get().id;
  }

  load = async (): Promise<void> => {
    const { id } = this.store.get();
    if (!id) return;
    try {
      const { messages, cursor, interrupted, waiting, ...conversation } =
        await api.conversation(id);
      this.store.change({
        status: "ready",
        problem: null,
        conversation,
        turns: withWaiting(restore(messages), waiting ?? []),
        older: cursor,
        interrupted: interrupted?.message ?? null,
      });
      this.#hooks.onConversation(conversation);
      const waits = waiting?.some((call) => call.run === conversation.active_run);
      if (conversation.active_run && !waits)
        void this.#live({ run: conversation.active_run, after: null });
    } catch (error) {
      this.store.change({ status: "failed", problem: asProblem(error) });
    }
  };

  loadOlder = async (): Promise<void> => {
    const { id, older, loadingOlder } = this.store.get();
    if (!id || !older || loadingOlder) return;
    this.store.change({ loadingOlder: true });
    try {
      const page = await api.conversation(id, older);
      const turns = [...restore(page.messages), ...this.store.get().turns];
      this.store.change({ turns, older: page.cursor, loadingOlder: false });
    } catch {
      this.store.change({ loadingOlder: false });
    }
  };

  /** Sends at once, or keeps the message until the present answer has ended. */
  send = async (text: string, files: readonly SentFile[] = []): Promise<void> => {
    const { running, queue } = this.store.get();
    const said = { text, files };
    this.sizes.know(files);
    if (running) {
      this.store.change({ queue: [...queue, said] });
      return;
    }
    this.#addTurn(said);
    this.store.change({ running: true, interrupted: null });
    try {
      await this.#live({ conversation: await this.#made(), said });
    } catch (error) {
      this.#unsent(asProblem(error), said);
    }
  };

  retry = (): Promise<void> => {
    const { turns } = this.store.get();
    const last = turns.at(-1);
    if (!last?.unsent) return Promise.resolve();
    this.store.change({ turns: turns.slice(0, -1) });
    return this.send(last.unsent.said.text, last.unsent.said.files);
  };

  /** Asks the same once more, with the files that went along. */
  again = ({ content, attachments }: Question): Promise<void> =>
    this.send(
      content,
      attachments.map((file) => ({ ...file, id: file.url.slice(file.url.lastIndexOf("/") + 1) })),
    );

  unqueue = (index: number): Said | undefined => {
    const { queue } = this.store.get();
    this.store.change({ queue: queue.filter((_, i) => i !== index) });
    return queue[index];
  };

  stop = async (): Promise<void> => {
    const run = this.store.get().turns.at(-1)?.run.id;
    if (!run) return;
    this.store.change({ stopping: true });
    try {
      await api.cancelRun(run);
    } catch (error) {
      this.store.change({ stopping: false });
      throw error;
    }
  };

  decide = async (run: string, call: string, decision: Decision): Promise<void> => {
    await api.decide(run, call, decision);
    const { decision: decided, always = false } = decision;
    const chosen = { state: "running", decision: decided, always } as const;
    const after = this.store
      .get()
      .turns.map((turn) =>
        turn.run.id === run ? { ...turn, run: withTool(turn.run, call, chosen) } : turn,
      );
    this.store.change({ turns: after });
    const waits = after.some(
      (turn) =>
        turn.run.id === run &&
        turn.run.parts.some((p) => p.type === "tool" && p.state === "waiting"),
    );
    if (!waits && !this.store.get().running) {
      void this.#live({ run, after: this.#places.get(run) ?? null });
    }
  };

  markUndone = (token: string): void =>
    this.store.change({ undone: new Set([...this.store.get().undone, token]) });

  close(): void {
    this.#abort.abort();
  }

  /** The id of the conversation, which is made when it is first needed, and once. */
  #made(): Promise<string> {
    if (this.id) return Promise.resolve(this.id);
    this.#creating ??= this.#create().finally(() => {
      this.#creating = null;
    });
    return this.#creating;
  }

  async #create(): Promise<string> {
    const conversation = await api.createConversation();
    this.store.change({ id: conversation.id, conversation });
    this.#hooks.onCreated(conversation.id);
    return conversation.id;
  }

  #addTurn({ text, files }: Said): void {
    this.#local += 1;
    const key = `local-${this.#local}`;
    const now = Date.now();
    const question = { id: key, at: now, content: text, attachments: files };
    const turn = { key, question, run: { ...emptyRun, startedAt: now } };
    this.store.change({ turns: [...this.store.get().turns, turn] });
  }

  #unsent(problem: Problem, said: Said): void {
    const { turns } = this.store.get();
    const last = turns.at(-1);
    const marked = last ? [...turns.slice(0, -1), { ...last, unsent: { problem, said } }] : turns;
    this.store.change({ turns: marked, running: false, stopping: false, link: "idle" });
  }

  /** Reads a run's events into the last turn until the run has ended. */
  async #live(following: Following): Promise<void> {
    this.store.change({ running: true });
    const opening = "said" in following ? asOpening(following) : following;
    this.#followed = "run" in opening ? opening.run : null;
    const { signal } = this.#abort;
    try {
      for await (const batch of events(opening, signal, (link) => this.store.change({ link }))) {
        this.#pending.push(...batch);
        this.#schedule();
      }
      this.#flush();
      this.#ended();
    } catch (error) {
      this.#flush();
      if (signal.aborted) return;
      await this.#broken(error, following);
    }
  }

  /** What the server has is the truth: it says whether a message of which we heard nothing arrived. */
  async #broken(error: unknown, following: Following): Promise<void> {
    const problem = asProblem(error);
    const began = Boolean(this.store.get().turns.at(-1)?.run.id);
    const said = "said" in following ? following.said : null;
    if (said && !began && problem.code !== "cut") {
      this.#unsent(problem, said);
      return;
    }
    this.store.change({ running: false, stopping: false, link: "idle" });
    await this.load();
    const last = this.store.get().turns.at(-1);
    if (said && last?.question?.content !== said.text) {
      this.#addTurn(said);
      this.#unsent(problem, said);
    }
  }

  #ended(): void {
    this.store.change({ running: false, stopping: false, link: "idle" });
    void this.#refreshConversation();
    const { queue, turns } = this.store.get();
    const [next, ...rest] = queue;
    if (next !== undefined && turns.at(-1)?.run.end === "answered") {
      this.store.change({ queue: rest });
      void this.send(next.text, next.files);
    }
  }

  async #refreshConversation(): Promise<void> {
    const { id } = this.store.get();
    if (!id) return;
    try {
      const {
        messages: _,
        cursor: __,
        interrupted: ___,
        waiting: ____,
        ...conversation
      } = await api.conversation(id);
      this.store.change({ conversation });
      this.#hooks.onConversation(conversation);
    } catch {
      // The list shows the older title until it is read again; nothing else is wrong.
    }
  }

  /** Batches what arrives: one change of the page for each of its frames. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    if (document.visibilityState === "visible") requestAnimationFrame(this.#flush);
    else setTimeout(this.#flush, 250);
  }

  #flush = (): void => {
    this.#scheduled = false;
    const arrived = this.#pending;
    this.#pending = [];
    if (!arrived.length) return;
    const { turns } = this.store.get();
    const mine = turns.findLastIndex((turn) => turn.run.id === this.#followed);
    const index = this.#followed && mine >= 0 ? mine : Math.max(0, turns.length - 1);
    const turn = turns[index] ?? { key: "live", question: null, run: emptyRun };
    let started = false;
    let run = turn.run;
    for (const { event, id } of arrived) {
      run = reduce(run, event);
      started ||= event.kind === "run_started";
      if (run.id && id) this.#places.set(run.id, id);
    }
    const after = turns.length ? turns.with(index, { ...turn, run }) : [{ ...turn, run }];
    this.store.change({ turns: after });
    if (started && this.store.get().conversation?.message_count === 0) {
      void this.#refreshConversation();
    }
  };
}
