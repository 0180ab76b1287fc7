// The conversations that are open in this page, each with its running answer.
import { Session, type SessionHooks, type SessionStart } from "../run/session";

/** Open conversations kept when others are opened; one that is answering is never dropped. */
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
    this.#drop();
    return session;
  }

  forget(id: string): void {
    this.#open.get(id)?.close();
    this.#open.delete(id);
  }

  #make(id: string | null, start: SessionStart): Session {
    const onCreated = (created: string) => {
      this.#open.set(created, session);
      this.#drafts.delete(start.temporary ?? false);
      this.#hooks.onCreated(created);
    };
    const session: Session = new Session(id, { ...this.#hooks, onCreated }, start);
    return session;
  }

  #drop(): void {
    for (const [id, session] of this.#open) {
      if (this.#open.size <= KEPT) return;
      if (!session.store.get().running) this.forget(id);
    }
  }
}
