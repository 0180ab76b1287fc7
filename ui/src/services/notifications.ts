// Notes of the system, for somebody who looks elsewhere: whether they are allowed, and the offer to allow them.
import { t } from "../i18n";
import { remember, remembered, Store } from "./store";
import type { Toasts } from "./toasts";

/** `unasked`: the browser asks once somebody wants them; `refused`: it was told to have none. */
export type NotificationState = "impossible" | "refused" | "unasked" | "off" | "on";

const KEY = "bethink.notifications";
const kept = () => remembered(KEY, { on: true, isOffered: false });

function stateNow(): NotificationState {
  if (!("Notification" in globalThis)) return "impossible";
  if (Notification.permission === "denied") return "refused";
  if (Notification.permission === "default") return "unasked";
  return kept().on ? "on" : "off";
}

export type Note = { title: string; body: string; tag: string; path: string };

export class Notifications {
  readonly store = new Store<NotificationState>(stateNow());
  readonly #toasts: Toasts;

  constructor(toasts: Toasts) {
    this.#toasts = toasts;
  }

  /** The browser asks, if it was not asked before: only after somebody has pressed something. */
  turn = async (on: boolean): Promise<void> => {
    remember(KEY, { ...kept(), on, isOffered: true });
    if (on && stateNow() === "unasked") await Notification.requestPermission();
    this.store.set(stateNow());
  };

  /** Another note of the same tag takes its place. */
  show({ title, body, tag, path }: Note, open: () => void): void {
    // It can have been changed in the browser's own settings.
    this.store.set(stateNow());
    if (this.store.get() !== "on") return;
    try {
      const note = new Notification(title, { body, tag, icon: "/icon.svg" });
      note.onclick = () => {
        focus();
        open();
        note.close();
      };
    } catch {
      // Browsers of phones let a worker alone show them; it opens the path.
      const shown = { body, tag, icon: "/icon.svg", data: { url: path } };
      void navigator.serviceWorker
        ?.getRegistration("/")
        .then((worker) => worker?.showNotification(title, shown));
    }
  }

  /** Once on this device, as soon as somebody is back: what was missed could have been told. */
  offer = (): void => {
    if (this.store.get() !== "unasked" || kept().isOffered) return;
    remember(KEY, { ...kept(), isOffered: true });
    const ask = () => {
      if (document.visibilityState !== "visible") return;
      document.removeEventListener("visibilitychange", ask);
      this.#toasts.show(t("Shall this browser tell you when a long answer is complete?"), {
        label: t("Notify me"),
        run: () => void this.turn(true),
      });
    };
    document.addEventListener("visibilitychange", ask);
    ask();
  };
}
