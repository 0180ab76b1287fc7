// Hears of conversations as they change, in this browser and elsewhere: the list, the open ones, the rail, the tab
// and the notes of the system all follow it.
import { CONNECTION_BACK } from "../api/client";
import type { Conversation, ConversationChange } from "../api/types";
import { t } from "../i18n";
import type { ConversationsService } from "./conversations";
import type { Notifications } from "./notifications";
import { addressOfChat, type Router, routeOf } from "./router";
import type { SessionsService } from "./sessions";
import { SharedSource } from "./sharedSource";
import { Store } from "./store";

type Known = Pick<Conversation, "active_run" | "needs_you">;
export type Turned = "answered" | "needs-you" | null;

/** An answer that took so long is one that somebody may have left the page for. */
const LONG_MS = 10_000;

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
  notifications: Notifications;
};

export class LiveConversations {
  /** Conversations open in this tab whose answer ended while something else was looked at. */
  readonly answered = new Store<readonly string[]>([]);
  #source: SharedSource | null = null;
  #known = new Map<string, Known & { since: number }>();
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
    addEventListener(CONNECTION_BACK, () => this.#source && this.#readAnew());
  }

  start(): void {
    // Whatever room is shown, it is known what waits.
    void this.#parts.conversations.refreshFirst();
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
    this.answered.set([]);
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
      this.#mark(id, false);
      conversations.gone(id);
      sessions().lost(id);
      return;
    }
    const before = this.#known.get(id);
    const what = turned(before, conversation);
    const { active_run, needs_you, unread } = conversation;
    const since = before?.active_run ? before.since : Date.now();
    this.#known.set(id, { active_run, needs_you, since });
    conversations.put(conversation);
    sessions().heard(conversation);
    const isAnswered = what === "answered" && sessions().has(id) && !this.#isLookedAt(id);
    if (isAnswered) this.#mark(id, true);
    if (!unread) this.#mark(id, false);
    const isHidden = document.visibilityState !== "visible";
    if (isHidden && (isAnswered || what === "needs-you")) this.#note(conversation, what, since);
  }

  #isLookedAt(id: string): boolean {
    const route = routeOf(this.#parts.router.path.get());
    const isShown = route.room === "chat" && route.conversation === id;
    return isShown && document.visibilityState === "visible";
  }

  #mark(id: string, on: boolean): void {
    const marked = this.answered.get();
    if (marked.includes(id) === on) return;
    this.answered.set(on ? [...marked, id] : marked.filter((each) => each !== id));
  }

  /** Tells somebody who looks elsewhere; the note of another tab takes this one's place. */
  #note({ id, title }: Conversation, what: Turned, since: number): void {
    const { notifications, router } = this.#parts;
    const body =
      what === "answered" ? t("The answer is complete.") : t("Waiting for your decision.");
    const [tag, path] = [`bethink ${id} ${what}`, addressOfChat(id)];
    notifications.show({ title, body, tag, path }, () => router.go(path));
    if (Date.now() - since >= LONG_MS) notifications.offer();
  }
}
