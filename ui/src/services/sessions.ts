// The conversations that are open in this page, each with its running answer.
import type { Conversation } from "../api/types";
import { Session, type SessionHooks, type SessionStart } from "../run/session";

/** Open conversations kept when others are opened; one with what is not stored yet is never dropped. */
const KEPT = 12;

export class SessionsService {
  #open = new Map<string, Session>();
  #drafts = new Map<boolean, Session>();
  #hooks: SessionHooks;

  constructor(hooks: SessionHooks) {
    this.#hooks = hooks;
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

  /** Takes in what became known of a conversation elsewhere in the page. */
  learn(conversation: Conversation): void {
    this.#open.get(conversation.id)?.learn(conversation);
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
    this.#open.get(id)?.close();
    this.#open.delete(id);
  }

  /** Some conversation holds what was written in it and not sent. */
  get holdUnsent(): boolean {
    return [...this.#open.values(), ...this.#drafts.values()].some((each) => each.holdsUnsent);
  }

  #make(id: string | null, start: SessionStart): Session {
    const onCreated = (created: string, temporary: boolean) => {
      this.#open.set(created, session);
      this.#drafts.delete(start.temporary ?? false);
      this.#hooks.onCreated(created, temporary);
    };
    const session: Session = new Session(id, { ...this.#hooks, onCreated }, start);
    return session;
  }

  #drop(shown: string): void {
    for (const [id, session] of this.#open) {
      if (this.#open.size <= KEPT) return;
      if (session.isStored && id !== shown) this.forget(id);
    }
  }
}
