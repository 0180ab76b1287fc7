// The conversations that are open in this page, each with its running answer.
import { Session } from "../run/session";
import type { ConversationsService } from "./conversations";

/** Open conversations kept when others are opened; one that is answering is never dropped. */
const KEPT = 12;

export class SessionsService {
  #open = new Map<string, Session>();
  #draft: Session | null = null;
  #conversations: ConversationsService;
  #onCreated: (id: string) => void;

  constructor(conversations: ConversationsService, onCreated: (id: string) => void) {
    this.#conversations = conversations;
    this.#onCreated = onCreated;
  }

  /** The conversation of this id; without one, the new conversation that has nothing said in it yet. */
  of(id: string | null): Session {
    if (id === null) {
      this.#draft ??= this.#make(null);
      return this.#draft;
    }
    const known = this.#open.get(id);
    const session = known ?? this.#make(id);
    this.#open.delete(id);
    this.#open.set(id, session);
    this.#drop();
    return session;
  }

  forget(id: string): void {
    this.#open.get(id)?.close();
    this.#open.delete(id);
  }

  #make(id: string | null): Session {
    const session: Session = new Session(id, {
      onConversation: this.#conversations.put,
      onCreated: (created) => {
        this.#open.set(created, session);
        if (this.#draft === session) this.#draft = null;
        this.#onCreated(created);
      },
    });
    return session;
  }

  #drop(): void {
    for (const [id, session] of this.#open) {
      if (this.#open.size <= KEPT) return;
      if (!session.store.get().running) this.forget(id);
    }
  }
}
