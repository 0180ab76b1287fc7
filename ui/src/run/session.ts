// One conversation as the interface holds it: its past, the answer that is being written, what waits.
// It lives on while other rooms are shown, so that an answer is never lost by looking elsewhere.
import { api, asProblem, type Problem } from "../api/client";
import type { Conversation, Decision, OpenConversation } from "../api/types";
import { Store } from "../services/store";
import { type Arrived, events, type Opening, type Place } from "./link";
import { loadNewer, loadOlder } from "./pages";
import { endOf, holds, LOCAL, messageOf, olderThan, recognised } from "./past";
import { emptyRun, type Part, type Run, reduce } from "./reduce";
import { type Question, restore, type Siblings, type Turn, withWaiting } from "./restore";
import { type SentFile, Sizes, Uploads } from "./uploads";
import { fresh, type Said, type SessionView, type ShownTurn } from "./view";

const withTool = (run: Run, call: string, change: Partial<Part>): Run => ({
  ...run,
  parts: run.parts.map((part) =>
    part.type === "tool" && part.call === call ? ({ ...part, ...change } as Part) : part,
  ),
});

/** `said` is null where an answer is made anew. */
type Sent = { conversation: string; said: Said | null; place?: Place | undefined };
type Following = Extract<Opening, { run: string }> | Sent;

const asOpening = ({ conversation, said, place }: Sent): Opening => ({
  conversation,
  said: said && { text: said.text, files: said.files.map(({ id }) => id) },
  place,
});

/** Files of a message as another message takes them along. */
const filesOf = ({ attachments }: Question): SentFile[] =>
  attachments.map((file) => ({ ...file, id: file.url.slice(file.url.lastIndexOf("/") + 1) }));

/** What of an open conversation belongs to the conversation itself. */
function recordOf(open: OpenConversation): Conversation {
  const { messages, cursor, interrupted, waiting, window, ...conversation } = open;
  return conversation;
}

/** The model of a conversation (null: the usual one) and what it is told beside Bethink's own prompt. */
export type Chosen = { model: string | null; system: string };

export type SessionStart = { temporary?: boolean; at?: number | undefined };

export type SessionHooks = {
  /** Something new is known of this conversation: its title, its time. */
  onConversation: (conversation: Conversation) => void;
  onCreated: (id: string) => void;
  /** Something failed that no part of the page shows. */
  onFault: (problem: Problem) => void;
};

export class Session {
  readonly store: Store<SessionView>;
  /** Tells open conversations apart, also before they have an id. */
  readonly key = crypto.randomUUID?.() ?? `${performance.now()}`;
  /** What was typed and not sent. */
  draft = "";
  /** The page was changed by a choice of branch: it stays where the reader is. */
  still = false;
  /** Where a branch was chosen last: its switch has the focus again. */
  switched: number | null = null;
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

  /** `at` is the position of the message that is to be shown first; the newest where it is left out. */
  constructor(
    id: string | null,
    hooks: SessionHooks,
    { temporary = false, at }: SessionStart = {},
  ) {
    this.#hooks = hooks;
    const begin = temporary ? { temporary } : {};
    this.store = new Store<SessionView>({ ...fresh, id, begin, status: id ? "loading" : "ready" });
    if (id) void this.load(at);
  }

  get id(): string | null {
    return this.store.get().id;
  }

  load = async (at?: number): Promise<void> => {
    const { id } = this.store.get();
    if (!id) return;
    try {
      const open = await api.conversation(id, { at });
      this.#take(open, restore(open.messages));
      if (at !== undefined) this.store.change({ target: { position: at } });
      const { active_run: run, waiting } = open;
      if (run && !waiting?.some((call) => call.run === run)) void this.#live({ run, after: null });
    } catch (error) {
      this.store.change({ status: "failed", problem: asProblem(error) });
    }
  };

  /** Shows the message at a position, which is read where it is not held. */
  show = async (position: number): Promise<void> => {
    const { turns, status, running } = this.store.get();
    if (status === "loading") return;
    const held = turns.some((turn) => holds(turn, position));
    if (held || running) this.store.change({ target: { position } });
    else await this.load(position);
  };

  loadOlder = (): Promise<void> => loadOlder(this.store);
  loadNewer = (): Promise<void> => loadNewer(this.store);

  #take(open: OpenConversation, turns: readonly Turn[]): void {
    const { interrupted, waiting, message_count: count, window } = open;
    const conversation = recordOf(open);
    const shown = withWaiting(recognised(turns, this.store.get().turns), waiting ?? []);
    this.store.change({
      status: "ready",
      problem: null,
      conversation,
      turns: shown,
      older: olderThan(shown),
      newer: shown.length > 0 && (endOf(shown.at(-1)) ?? count) + 1 < count,
      paging: null,
      window: window ?? this.store.get().window,
      interrupted: interrupted?.message ?? null,
    });
    this.#hooks.onConversation(conversation);
  }

  /** Sends at once, or keeps the message until the present answer has ended. */
  send = async (text: string, files: readonly SentFile[] = []): Promise<void> => {
    const { running, queue } = this.store.get();
    const said = { text, files };
    this.sizes.know(files);
    if (running) {
      this.store.change({ queue: [...queue, said] });
      return;
    }
    if (this.store.get().newer) await this.load();
    await this.#say(said);
  };

  retry = (): Promise<void> => {
    const { turns } = this.store.get();
    const unsent = turns.at(-1)?.unsent;
    if (!unsent) return Promise.resolve();
    this.store.change({ turns: turns.slice(0, -1) });
    return this.#say(unsent.said, unsent.place);
  };

  /** Asks the same once more, with the files that went along. */
  again = (question: Question): Promise<void> => this.send(question.content, filesOf(question));

  /** Opens a question for editing, or closes it. */
  edit = (turn: ShownTurn | null): void => this.store.change({ editing: turn?.key ?? null });

  /** Says something else in place of an earlier message; what was said there stays as another branch. */
  revise = async (turn: ShownTurn, text: string): Promise<void> => {
    const message = messageOf(turn);
    if (!message || !turn.question || this.store.get().running) return;
    this.#cut(turn);
    await this.#say({ text, files: filesOf(turn.question) }, { edit: message });
  };

  /** Answers a message anew; the answer that it had stays as another branch. */
  regenerate = async (turn: ShownTurn): Promise<void> => {
    const { id, running } = this.store.get();
    const message = messageOf(turn);
    if (!id || !message || running) return;
    this.#cut(turn);
    const run = { ...emptyRun, question: message, startedAt: Date.now() };
    const anew = { key: turn.key, question: turn.question, run };
    this.store.change({ turns: [...this.store.get().turns, anew], interrupted: null });
    await this.#live({ conversation: id, said: null, place: { regenerate: message } });
  };

  /** Goes over to what else was said, or answered, in a place. Nothing before it moves. */
  choose = async ({ branches, position }: Siblings, index: number): Promise<void> => {
    const branch = branches[index];
    if (!this.id || branch === undefined || this.store.get().running) return;
    await api.patchConversation(this.id, { branch });
    const open = await api.conversation(this.id, { at: position });
    this.still = true;
    this.switched = position;
    this.#take(open, restore(open.messages));
  };

  #cut(turn: ShownTurn): void {
    const { turns } = this.store.get();
    const place = turns.findIndex(({ key }) => key === turn.key);
    this.store.change({ turns: turns.slice(0, place), newer: false, editing: null });
  }

  async #say(said: Said, place?: Place): Promise<void> {
    this.#addTurn(said);
    this.store.change({ running: true, interrupted: null });
    try {
      await this.#live({ conversation: await this.#made(), said, place });
    } catch (error) {
      this.#unsent(asProblem(error), said, place);
    }
  }

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

  /** Has the next answers come from another model, or under other instructions. */
  settle = async (chosen: Chosen): Promise<void> => {
    const { id, begin } = this.store.get();
    if (!id) {
      this.store.change({ begin: { ...begin, ...chosen } });
      return;
    }
    const conversation = await api.patchConversation(id, chosen);
    this.store.change({ conversation });
    this.#hooks.onConversation(conversation);
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
    const conversation = await api.createConversation(this.store.get().begin);
    this.store.change({ id: conversation.id, conversation });
    this.#hooks.onCreated(conversation.id);
    return conversation.id;
  }

  #addTurn({ text, files }: Said): void {
    this.#local += 1;
    const key = `${LOCAL}${this.#local}`;
    const now = Date.now();
    const question = { id: key, at: now, content: text, attachments: files };
    const turn = { key, question, run: { ...emptyRun, startedAt: now } };
    this.store.change({ turns: [...this.store.get().turns, turn] });
  }

  #unsent(problem: Problem, said: Said, place?: Place): void {
    const { turns } = this.store.get();
    const last = turns.at(-1);
    const unsent = place ? { problem, said, place } : { problem, said };
    const marked = last ? [...turns.slice(0, -1), { ...last, unsent }] : turns;
    this.store.change({ turns: marked, running: false, stopping: false, link: "idle" });
  }

  /** Reads a run's events into the last turn until the run has ended. */
  async #live(following: Following): Promise<void> {
    this.store.change({ running: true });
    const opening = "run" in following ? following : asOpening(following);
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
    const { said, place } = "run" in following ? { said: null } : following;
    if (said && !began && problem.code !== "cut") {
      this.#unsent(problem, said, place);
      return;
    }
    this.store.change({ running: false, stopping: false, link: "idle" });
    await this.load();
    if (!said && place) this.#hooks.onFault(problem);
    const last = this.store.get().turns.at(-1);
    if (said && last?.question?.content !== said.text) {
      this.#addTurn(said);
      this.#unsent(problem, said, place);
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
      const open = await api.conversation(id);
      const conversation = recordOf(open);
      this.store.change({ conversation });
      this.#hooks.onConversation(conversation);
      const { running, turns, newer } = this.store.get();
      // What was heard gets its places, and what else was said in them.
      if (!running && !newer) {
        const read = recognised(restore(open.messages), turns);
        const known = new Map(read.map((turn) => [turn.key, turn]));
        this.store.change({ turns: turns.map((turn) => known.get(turn.key) ?? turn) });
      }
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
