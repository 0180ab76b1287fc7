// The conversations that are open in this page, each with its running answer.
import type { Conversation } from "../api/types";
import { Session, type SessionHooks, type SessionStart } from "../run/session";
import type { Waiting } from "../run/view";
import type { KeptWords } from "./keptWords";
import { addressOfChat } from "./router";

/** Open conversations kept when others are opened; one with what is not stored yet is never dropped. */
const KEPT = 12;

const addressOfNew = (temporary = false) => (temporary ? "/temporary" : "/");
const placeOf = ({ id, store }: Session) =>
  id === null ? addressOfNew(store.get().begin.temporary) : addressOfChat(id);

const queueOf = (session: Session) => `${placeOf(session)} waiting`;

export class SessionsService {
  #open = new Map<string, Session>();
  #drafts = new Map<boolean, Session>();
  #hooks: SessionHooks;
  #words: KeptWords;

  constructor(hooks: SessionHooks, words: KeptWords) {
    this.#hooks = hooks;
    this.#words = words;
    void words.ready.then(() => {
      for (const session of this.#all()) this.#take(session);
    });
  }

  /** The conversation of this id; without one, the new one that has nothing said in it yet. */
  of(id: string | null, start: SessionStart = {}): Session {
    if (id === null) {
      const { temporary = false } = start;
      const draft = this.#drafts.get(temporary) ?? this.#make(null, start);
      this.#drafts.set(temporary, draft);
      return draft;
    }
    const known = this.#open.get(id);
    const session = known ?? this.#make(id, start);
    this.#open.delete(id);
    this.#open.set(id, session);
    this.#drop(id);
    return session;
  }

  /** It is open in this page. */
  has = (id: string): boolean => this.#open.has(id);

  /** Takes in what became known of a conversation elsewhere in the page. */
  learn(conversation: Conversation): void {
    this.#open.get(conversation.id)?.learn(conversation);
  }

  /** Takes in what changed of a conversation, here or elsewhere. */
  heard(conversation: Conversation): void {
    this.#open.get(conversation.id)?.heard(conversation);
  }

  /** A conversation is not there any more. */
  lost(id: string): void {
    void this.#open.get(id)?.load();
  }

  /** Has all open conversations take in what was said elsewhere. */
  look(): void {
    for (const session of this.#open.values()) void session.look();
  }

  /** Reads a conversation anew that is open, around a position. */
  async read(id: string, at: number): Promise<void> {
    await this.#open.get(id)?.load(at);
  }

  /** Shows a message of a conversation that is open. */
  show(id: string, at: number): void {
    void this.#open.get(id)?.show(at);
  }

  forget(id: string): void {
    this.#words.keep(addressOfChat(id), "");
    this.#words.keep(`${addressOfChat(id)} waiting`, "");
    this.#open.get(id)?.close();
    this.#open.delete(id);
  }

  /** Some conversation holds what a reload would lose. */
  get holdUnsent(): boolean {
    const isKept = (each: Session) => this.#words.find(placeOf(each)) === each.draft.get();
    return this.#all().some((each) => each.holdsUnsent || !isKept(each));
  }

  /** Forgets all that was typed and not sent. */
  forgetWords(): void {
    for (const session of this.#all()) session.draft.set("");
    this.#words.forget();
  }

  #all(): Session[] {
    return [...this.#open.values(), ...this.#drafts.values()];
  }

  #make(id: string | null, start: SessionStart): Session {
    const onCreated = (created: string, temporary: boolean) => {
      this.#open.set(created, session);
      this.#drafts.delete(start.temporary ?? false);
      this.#words.keep(addressOfNew(start.temporary), "");
      this.#words.keep(`${addressOfNew(start.temporary)} waiting`, "");
      this.#keep(session);
      this.#keepQueue(session);
      this.#hooks.onCreated(created, temporary);
    };
    const session: Session = new Session(id, { ...this.#hooks, onCreated }, start);
    this.#take(session);
    session.draft.subscribe(() => this.#keep(session));
    let kept = JSON.stringify(session.waiting);
    session.store.subscribe(() => {
      const now = JSON.stringify(session.waiting);
      if (now !== kept) this.#keepQueue(session);
      kept = now;
    });
    return session;
  }

  #keep(session: Session): void {
    this.#words.keep(placeOf(session), session.draft.get());
  }

  /** What was not sent and what waits is kept over a reload, with the files that are there already. */
  #keepQueue(session: Session): void {
    const { unsent, queue } = session.waiting;
    const waits = unsent.length + queue.length > 0;
    this.#words.keep(queueOf(session), waits ? JSON.stringify({ unsent, queue }) : "");
  }

  /** Gives a conversation the words that are kept of it; what is being typed already is newer. */
  #take(session: Session): void {
    if (session.draft.get()) this.#keep(session);
    else session.draft.set(this.#words.find(placeOf(session)));
    const kept = this.#words.find(queueOf(session));
    if (kept) session.waitAgain(JSON.parse(kept) as Waiting);
  }

  #drop(shown: string): void {
    for (const [id, session] of this.#open) {
      if (this.#open.size <= KEPT) return;
      if (session.isStored && id !== shown) this.forget(id);
    }
  }
}
