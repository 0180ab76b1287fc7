// What schedules and reminders tell while the page is open: a note at its foot, and a number at Today.

import type { Notice } from "../api/schedules";
import { noticesApi } from "../api/schedules";
import type { Router } from "./router";
import { SharedSource } from "./sharedSource";
import { Store } from "./store";
import type { Toasts } from "./toasts";

export class Notices {
  readonly unseen = new Store<readonly Notice[]>([]);
  #source: SharedSource | null = null;
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
    this.#source ??= new SharedSource("bethink.notices", {
      address: () => "/schedules/notices/events",
      place: () => "",
      onOpen: () => void this.read(),
      onTold: ({ data }) => this.#hear(data),
    });
  }

  stop = (): void => {
    this.#source?.close();
    this.#source = null;
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

  #hear(data: string): void {
    const notice = JSON.parse(data) as Partial<Notice>;
    const { id } = notice;
    if (!id || this.unseen.get().some((each) => each.id === id)) return;
    const whole = notice as Notice;
    this.unseen.set([whole, ...this.unseen.get()]);
    const text =
      whole.text && whole.text !== whole.title ? `${whole.title}: ${whole.text}` : whole.title;
    this.#toasts.show(text, { label: "Open", run: () => this.open(whole) });
    this.#onNew();
  }
}
