// What schedules and reminders tell while the page is open: a note at its foot, and a number at Today.

import type { Notice } from "../api/schedules";
import { noticesApi } from "../api/schedules";
import { t } from "../i18n";
import type { Router } from "./router";
import { SharedSource } from "./sharedSource";
import { Store } from "./store";
import type { Toasts } from "./toasts";

const LOOK_MS = 30_000;

export class Notices {
  readonly unseen = new Store<readonly Notice[]>([]);
  #source: SharedSource | null = null;
  #timer: ReturnType<typeof setInterval> | undefined;
  readonly #router: Router;
  readonly #toasts: Toasts;
  readonly #onNew: () => void;

  constructor(router: Router, toasts: Toasts, onNew: () => void) {
    this.#router = router;
    this.#toasts = toasts;
    this.#onNew = onNew;
  }

  start(): void {
    void this.read();
    // Without locks each tab would hold a stream of its own, and a browser has six connections to a server.
    if (!navigator.locks) {
      this.#timer ??= setInterval(() => void this.#look(), LOOK_MS);
      return;
    }
    this.#source ??= new SharedSource("bethink.notices", {
      address: () => "/schedules/notices/events",
      place: () => "",
      onOpen: () => void this.read(),
      onTold: ({ data }) => this.#hear(JSON.parse(data) as Notice),
    });
  }

  stop = (): void => {
    this.#source?.close();
    this.#source = null;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.unseen.set([]);
  };

  read = async (): Promise<void> => {
    try {
      this.unseen.set((await noticesApi.unseen()).items);
    } catch {
      // The page works without them; the banner says it if the server is gone.
    }
  };

  seen = async (id: string): Promise<void> => {
    const before = this.unseen.get();
    this.unseen.set(before.filter((each) => each.id !== id));
    try {
      await noticesApi.seen(id);
    } catch (error) {
      this.unseen.set(before);
      this.#toasts.fault(error);
    }
  };

  open = (notice: Notice): void => {
    void this.seen(notice.id);
    this.#router.go(notice.link || "/today");
  };

  async #look(): Promise<void> {
    if (document.visibilityState !== "visible") return;
    const { items } = await noticesApi.unseen().catch(() => ({ items: [] }));
    for (const notice of items.toReversed()) this.#hear(notice);
  }

  #hear(whole: Notice): void {
    if (!whole.id || this.unseen.get().some(({ id }) => id === whole.id)) return;
    this.unseen.set([whole, ...this.unseen.get()]);
    const text =
      whole.text && whole.text !== whole.title ? `${whole.title}: ${whole.text}` : whole.title;
    this.#toasts.show(text, { label: t("Open"), run: () => this.open(whole) });
    this.#onNew();
  }
}
