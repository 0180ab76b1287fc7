// One conversation as the interface holds it: its past, the answer that is being written, what waits.
// It lives on while other rooms are shown, so that an answer is never lost by looking elsewhere.
import { api, asProblem, type Problem } from "../api/client";
import { serversApi } from "../api/servers";
import type { Conversation, Decision } from "../api/types";
import { Store } from "../services/store";
import { heard } from "./heard";
import { type Arrived, events, type Place } from "./link";
import type { NamedSource } from "./named";
import { loadNewer, loadOlder } from "./pages";
import { LOCAL, messageOf } from "./past";
import { Reading, type ReadingHooks } from "./reading";
import { emptyRun } from "./reduce";
import type { Siblings } from "./restore";
import { asOpening, decided, endingOf, type Following, filesOf } from "./sent";
import { Sizes, Uploads } from "./uploads";
import {
  fresh,
  type Queued,
  type Said,
  type SessionView,
  type ShownTurn,
  type Unsent,
  type Waiting,
} from "./view";

/** The model of a conversation (null: the usual one) and what it is told beside Bethink's own prompt. */
export type Chosen = { model: string | null; system: string };

/** How often something was looked for in a conversation that is worth remembering. */
const learnings = (conversation: Conversation | null): number =>
  conversation?.spent.find(({ job }) => job === "extraction")?.requests ?? 0;

export type SessionStart = { temporary?: boolean; at?: number | undefined };

export type SessionHooks = ReadingHooks & {
  onCreated: (id: string, temporary: boolean) => void;
  /** An answer changed what is remembered. */
  onMemory: () => void;
};

export class Session {
  readonly store: Store<SessionView>;
  /** Tells open conversations apart, also before they have an id. */
  readonly key = crypto.randomUUID?.() ?? `${performance.now()}`;
  /** What was typed and not sent. */
  readonly draft = new Store("");
  /** Whether the draft holds a server's prompt. */
  readonly foreign = new Store(false);
  /** What of the library the next message is about. */
  readonly named = new Store<readonly NamedSource[]>([]);
  /** The page was changed by a choice of branch: it stays where the reader is. */
  still = false;
  /** Where a branch was chosen last: its switch has the focus again. */
  switched: number | null = null;
  /** Changes of memory that are being taken back. */
  readonly undoing = new Set<string>();
  readonly uploads = new Uploads(() => this.#made());
  readonly sizes = new Sizes(async () => (this.id ? (await api.files(this.id)).items : []));
  #hooks: SessionHooks;
  #reading: Reading;
  #following = new AbortController();
  #pending: Arrived[] = [];
  #scheduled = false;
  #places = new Map<string, string>();
  /** The run that is followed by its id; null while the last turn's own is read. */
  #followed: string | null = null;
  /** Some of what was heard was of a turn that is not held. */
  #missed = false;
  #local = 0;
  #creating: Promise<string> | null = null;
  /** Of this message nobody knows whether it arrived. */
  #doubtful: { said: Said; place: Place | undefined; problem: Problem } | null = null;
  /** What was not sent before the page was loaded anew, until the past is there that it stands behind. */
  #unsaid: readonly Unsent[] = [];
  /** Choices of branches are made one after the other; a message waits for them. */
  #choosing: Promise<unknown> = Promise.resolve();
  #choices = 0;

  /** `at` is the position of the message that is to be shown first; the newest where it is left out. */
  constructor(
    id: string | null,
    hooks: SessionHooks,
    { temporary = false, at }: SessionStart = {},
  ) {
    this.#hooks = hooks;
    const begin = temporary ? { temporary } : {};
    this.store = new Store<SessionView>({ ...fresh, id, begin, status: id ? "loading" : "ready" });
    this.#reading = new Reading(this.store, hooks, (run) => void this.#live({ run, after: null }));
    this.uploads.store.subscribe(() => void this.#advance());
    if (id) void this.load(at);
  }

  get id(): string | null {
    return this.store.get().id;
  }

  load = async (at?: number): Promise<void> => {
    const { status } = this.store.get();
    const isRead = await this.#reading.read(at, this.#doubtful !== null);
    if (isRead) this.#settle();
    if (isRead) this.#park();
    if (isRead && status !== "ready") void this.#advance();
  };

  /** Shows the message at a position, which is read where it is not held. */
  show = async (position: number): Promise<void> => {
    if (await this.#reading.show(position)) void this.#advance();
  };

  /** Takes in what was said elsewhere since it was read. */
  look = async (): Promise<void> => {
    const { running, status } = this.store.get();
    if (status === "failed") await this.load();
    else if (status === "ready" && !running) await this.#reading.compare(true);
  };

  /** Takes in that the conversation changed, here or elsewhere: what is said elsewhere is heard as it comes. */
  heard = (now: Conversation): void => {
    const { conversation: before, running, status } = this.store.get();
    this.learn(now);
    if (status !== "ready" || running) return;
    const isSaid = now.message_count !== before?.message_count || now.branch !== before.branch;
    const isAnswering = now.active_run !== before?.active_run || now.needs_you !== before.needs_you;
    const isLearnt = learnings(now) !== learnings(before);
    if (isLearnt) this.#hooks.onMemory();
    if (isSaid || isAnswering || isLearnt) void this.look();
  };

  /** What waits, as it can be kept: with the files that are there. */
  get waiting(): Waiting {
    const { turns, queue } = this.store.get();
    return {
      unsent: [...this.#unsaid, ...turns.flatMap(({ unsent }) => unsent ?? [])],
      queue: queue.map(({ waits, ...said }) => ({
        ...said,
        files: [...said.files, ...this.uploads.those(waits)],
      })),
    };
  }

  /** Has messages wait that waited before the page was loaded anew. */
  waitAgain = ({ unsent, queue }: Waiting): void => {
    const { queue: now, status } = this.store.get();
    if (now.length || this.waiting.unsent.length) return;
    this.#unsaid = unsent;
    this.store.change({ queue: queue.map((each) => ({ ...each, waits: [] })) });
    if (status === "ready") this.#settle();
    this.#park();
    void this.#advance();
  };

  /** What waits behind an answer that did not end well does not go by itself, also where that was read. */
  #park(): void {
    const { queue, running, status, turns } = this.store.get();
    const end = turns.at(-1)?.run.end ?? "answered";
    if (queue.length && !running && status === "ready" && end !== "answered") {
      this.store.change({ parked: true });
    }
  }

  loadOlder = (): Promise<void> => loadOlder(this.store);
  loadNewer = async (): Promise<void> => {
    await loadNewer(this.store);
    if (!this.#missed || this.store.get().newer) return;
    // What could not be taken in is heard anew, now that its turn is held.
    this.#missed = false;
    if (this.store.get().running && this.#followed) {
      await this.#live({ run: this.#followed, after: null });
    } else await this.look();
  };

  /** What is stored tells whether a message arrived of which nothing was heard. */
  #settle(): void {
    const { said, place, problem } = this.#doubtful ?? {};
    this.#doubtful = null;
    const last = this.store.get().turns.at(-1);
    if (said && problem && last?.question?.content !== said.text) {
      this.#addTurn(said);
      this.#unsent(problem, said, place);
    }
    const unsaid = this.#unsaid;
    this.#unsaid = [];
    for (const each of unsaid) {
      this.#addTurn(each.said);
      this.#unsent(each.problem, each.said, each.place);
    }
  }

  /** Sends at once, or behind what waits already, once what is before it is there: the past, an answer, its files. */
  send = async (text: string): Promise<void> => {
    const { running, queue, parked } = this.store.get();
    const untrusted = this.foreign.get();
    this.foreign.set(false);
    const next = { text, waits: this.uploads.claim(), files: [], untrusted };
    this.store.change({ queue: [...queue, next], parked: parked && running });
    await this.#advance();
  };

  /** Has the next message take along what a server lends, as files of the conversation. */
  lend = async (server: string, uri: string): Promise<void> => {
    const { items } = await serversApi.attach(await this.#made(), server, uri);
    for (const file of items) this.uploads.attach(file);
  };

  /** Has the last answer go on, before anything that waits behind it. */
  resume = async (text: string): Promise<void> => {
    const { queue } = this.store.get();
    this.store.change({ queue: [{ text, waits: [], files: [] }, ...queue], parked: false });
    await this.#advance();
  };

  /** Sends what waits behind an answer that did not end well. */
  sendWaiting = (): void => {
    this.store.change({ parked: false });
    void this.#advance();
  };

  async #send({ text, waits, files, untrusted }: Queued): Promise<void> {
    this.store.change({ running: true });
    const said = { text, files: [...files, ...this.uploads.take(waits)], untrusted };
    this.sizes.know(said.files);
    const { from, newer, turns } = this.store.get();
    const behind = turns.find(({ key }) => key === from);
    const parent = endingOf(behind);
    if (behind && parent) {
      this.store.change({ turns: turns.slice(0, turns.indexOf(behind) + 1), newer: false });
    } else if (newer) await this.load();
    this.store.change({ from: null });
    await this.#say(said, parent ? { parent } : undefined);
  }

  /** Sends what waits, if nothing is in its way any more. */
  async #advance(): Promise<void> {
    const { running, queue, status, parked } = this.store.get();
    const [next, ...rest] = queue;
    if (running || status === "loading" || parked || this.#choices > 0) return;
    if (!next || !this.uploads.areThere(next.waits)) return;
    this.store.change({ queue: rest });
    await this.#send(next);
  }

  /** Has the next message stand behind an earlier answer, or, with null, at the end again. */
  goOn = (turn: ShownTurn | null): void => this.store.change({ from: turn?.key ?? null });

  /** Sends a message again that was not sent. */
  retry = async ({ key, unsent }: ShownTurn): Promise<void> => {
    const { turns, running } = this.store.get();
    if (!unsent || running) return;
    this.store.change({ turns: turns.filter((turn) => turn.key !== key) });
    await this.#say(unsent.said, unsent.place);
  };

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
    this.#reading.pass();
    await this.#live({ conversation: id, said: null, place: { regenerate: message } });
  };

  /** Goes over to what else was said, or answered, in a place. Nothing before it moves. */
  choose = async ({ branches, position }: Siblings, index: number): Promise<void> => {
    const { id, running } = this.store.get();
    const branch = branches[index];
    if (!id || branch === undefined || running) return;
    this.#choices += 1;
    const first = () => {
      this.still = true;
      this.switched = position;
    };
    const choice = this.#choosing.then(() => this.#reading.branch(id, branch, position, first));
    this.#choosing = choice.catch(() => undefined);
    try {
      await choice;
    } finally {
      this.#choices -= 1;
      void this.#advance();
    }
  };

  #cut(turn: ShownTurn): void {
    const { turns } = this.store.get();
    const place = turns.findIndex(({ key }) => key === turn.key);
    this.store.change({ turns: turns.slice(0, place), newer: false, editing: null, from: null });
  }

  async #say(said: Said, place?: Place): Promise<void> {
    this.#reading.pass();
    this.#addTurn(said);
    this.store.change({ running: true, interrupted: null });
    try {
      await this.#live({ conversation: await this.#made(), said, place });
    } catch (error) {
      this.#unsent(asProblem(error), said, place);
    }
  }

  /** Takes a message back that waits; its files are the next one's again. */
  unqueue = (index: number): string => {
    const { queue } = this.store.get();
    const taken = queue[index];
    this.store.change({ queue: queue.filter((_, i) => i !== index) });
    this.uploads.release(taken?.waits ?? []);
    return taken?.text ?? "";
  };

  /** Ends the answer; one that has not begun yet is ended as soon as it has. */
  stop = async (): Promise<void> => {
    const { running, turns } = this.store.get();
    if (!running) return;
    const run = this.#followed ?? turns.at(-1)?.run.id;
    this.store.change({ stopping: true });
    if (!run) return;
    try {
      await api.cancelRun(run);
    } catch (error) {
      this.store.change({ stopping: false });
      throw error;
    }
  };

  decide = async (run: string, call: string, decision: Decision): Promise<void> => {
    await api.decide(run, call, decision);
    const { turns, waits } = decided(this.store.get().turns, run, call, decision);
    this.store.change({ turns });
    if (!waits && !this.store.get().running) {
      void this.#live({ run, after: this.#places.get(run) ?? null });
    }
  };

  /** Has what is not begun yet begin in a project. */
  beginIn = (project: string | null): void =>
    this.store.change({ begin: { ...this.store.get().begin, project } });

  /** Has the next answers come from another model, or under other instructions. */
  settle = async (chosen: Chosen): Promise<void> => {
    const { id, begin } = this.store.get();
    if (!id) {
      this.store.change({ begin: { ...begin, ...chosen } });
      return;
    }
    const conversation = await api.patchConversation(id, chosen);
    this.learn(conversation);
    this.#hooks.asking()(conversation);
  };

  /** Takes in what became known of the conversation itself. */
  learn = (conversation: Conversation): void => this.#reading.learn(conversation);

  markUndone = (token: string): void =>
    this.store.change({ undone: new Set([...this.store.get().undone, token]) });

  /** Nothing is lost where it is let go of: it can be read again. */
  get isStored(): boolean {
    return !this.store.get().running && !this.holdsUnsent && !this.draft.get();
  }

  /** Something was sent or given that the server does not have as said. */
  get holdsUnsent(): boolean {
    const { queue, turns } = this.store.get();
    const waits = queue.length > 0 || this.uploads.store.get().length > 0;
    return waits || turns.some(({ unsent }) => unsent);
  }

  close(): void {
    this.#following.abort();
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
    this.#hooks.onCreated(conversation.id, conversation.temporary);
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
    // What waits behind it does not go without it.
    this.store.change({
      turns: marked,
      running: false,
      stopping: false,
      link: "idle",
      parked: true,
    });
  }

  /** Reads a run's events into its turn until it has ended; what was followed before is let go. */
  async #live(following: Following): Promise<void> {
    this.#flush();
    this.#following.abort();
    this.#following = new AbortController();
    const { signal } = this.#following;
    this.store.change({ running: true });
    const opening = "run" in following ? following : asOpening(following);
    this.#followed = "run" in opening ? opening.run : null;
    try {
      for await (const batch of events(opening, signal, (link) => this.store.change({ link }))) {
        this.#pending.push(...batch);
        this.#schedule();
      }
      if (signal.aborted) return;
      this.#flush();
      this.#ended();
    } catch (error) {
      if (signal.aborted) return;
      this.#flush();
      await this.#broken(error, following, signal);
    }
  }

  /** Another page was first: the message waits behind what is being answered there, before all others. */
  async #wait(said: Said): Promise<void> {
    const { turns, queue } = this.store.get();
    this.store.change({
      turns: turns.slice(0, -1),
      queue: [{ ...said, waits: [] }, ...queue],
      running: false,
      stopping: false,
      link: "idle",
    });
    await this.load();
    await this.#advance();
  }

  /** What the server has is the truth: it says whether a message of which we heard nothing arrived. */
  async #broken(error: unknown, following: Following, signal: AbortSignal): Promise<void> {
    const problem = asProblem(error);
    const began = Boolean(this.store.get().turns.at(-1)?.run.id);
    const { said, place } = "run" in following ? { said: null } : following;
    if (said && !began && !place && problem.code === "busy") {
      await this.#wait(said);
      return;
    }
    if (said && !began && problem.code !== "cut") {
      this.#unsent(problem, said, place);
      return;
    }
    if (said) this.#doubtful = { said, place, problem };
    this.store.change({ stopping: false, link: "idle", parked: true });
    await this.load();
    // What was read may be going on, and is followed then.
    if (signal === this.#following.signal) this.store.change({ running: false });
    if (!said && place) this.#hooks.onFault(problem);
  }

  #ended(): void {
    const parked = this.store.get().turns.at(-1)?.run.end !== "answered";
    this.store.change({ running: false, stopping: false, link: "idle", parked });
    void this.#reading.ended();
    void this.#advance();
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
    const before = this.store.get();
    const { turns, run, started, missed } = heard(before, this.#followed, arrived);
    for (const { id } of arrived) if (run && id) this.#places.set(run, id);
    this.#missed ||= missed;
    this.store.change({ turns });
    if (arrived.some(({ event }) => event.kind === "memory_changed")) this.#hooks.onMemory();
    if (!started) return;
    if (before.stopping) this.stop().catch((error) => this.#hooks.onFault(asProblem(error)));
    if (before.conversation?.message_count === 0) void this.#reading.compare(false);
  };
}
