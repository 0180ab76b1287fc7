// Hears of conversations as they change, in this browser and elsewhere: the list, the open ones, the tab and
// the notes of the system all follow it.
import { CONNECTION_BACK } from "../api/client";
import type { Conversation, ConversationChange } from "../api/types";
import { t } from "../i18n";
import type { ConversationsService } from "./conversations";
import { addressOfChat, type Router } from "./router";
import type { SessionsService } from "./sessions";
import { SharedSource } from "./sharedSource";

type Known = Pick<Conversation, "active_run" | "needs_you">;
export type Turned = "answered" | "needs-you" | null;

/** What became of a conversation that somebody may be waiting for. */
export function turned(before: Known | undefined, now: Conversation): Turned {
  if (now.needs_you && !before?.needs_you) return "needs-you";
  const wasBusy = before?.active_run && !before.needs_you;
  return wasBusy && !now.active_run && now.unread ? "answered" : null;
}

type Parts = {
  conversations: ConversationsService;
  sessions: () => SessionsService;
  router: Router;
};

export class LiveConversations {
  #source: SharedSource | null = null;
  #known = new Map<string, Known>();
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
    addEventListener(CONNECTION_BACK, () => this.#source && this.#readAnew());
  }

  start(): void {
    this.#source ??= new SharedSource("bethink.conversations", {
      address: () => "/conversations/events",
      place: () => "",
      onOpen: this.#readAnew,
      onTold: ({ data }) => this.#hear(JSON.parse(data) as ConversationChange),
    });
  }

  stop = (): void => {
    this.#source?.close();
    this.#source = null;
    this.#known.clear();
  };

  /** What was told while nobody heard is to be asked for. */
  #readAnew = (): void => {
    const { conversations, sessions } = this.#parts;
    void conversations.refresh();
    void conversations.refreshFirst();
    sessions().look();
  };

  #hear({ id, conversation }: ConversationChange): void {
    const { conversations, sessions } = this.#parts;
    if (!conversation) {
      this.#known.delete(id);
      conversations.gone(id);
      sessions().lost(id);
      return;
    }
    const what = turned(this.#known.get(id), conversation);
    const { active_run, needs_you } = conversation;
    this.#known.set(id, { active_run, needs_you });
    conversations.put(conversation);
    sessions().heard(conversation);
    if (what) this.#note(conversation, what);
  }

  /** Tells somebody who looks elsewhere, if they allowed it; the note of another tab takes this one's place. */
  #note({ id, title }: Conversation, what: Exclude<Turned, null>): void {
    if (document.visibilityState === "visible" || !("Notification" in globalThis)) return;
    if (Notification.permission !== "granted") return;
    const body =
      what === "answered" ? t("The answer is complete.") : t("Waiting for your decision.");
    const note = new Notification(title, { body, tag: `bethink ${id} ${what}` });
    note.onclick = () => {
      focus();
      this.#parts.router.go(addressOfChat(id));
      note.close();
    };
  }
}
