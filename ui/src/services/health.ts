// Whether the server answers, and which of its parts work less well than they should.
import { api, asProblem, CONNECTION_BACK, CONNECTION_LOST } from "../api/client";
import type { Health, Settings } from "../api/types";
import { remember, remembered, Store } from "./store";

export type Vitals = {
  /** False once a request to the server itself failed, until one succeeds. */
  reachable: boolean;
  health: Health | null;
  settings: Settings | null;
  since: number | null;
  /** Rooms whose feature the server has switched off, as it said last. */
  off: readonly string[];
  /** It was away, and answers again since a moment. */
  isBack: boolean;
};

const KEY = "bethink.rooms";
const EVERY_MS = 30_000;
const WHEN_LOST_MS = 2000;
const BACK_MS = 4000;

export class HealthService {
  readonly store = new Store<Vitals>({
    reachable: true,
    health: null,
    settings: null,
    since: null,
    off: remembered(KEY, { off: [] as readonly string[] }).off,
    isBack: false,
  });
  /** Only the answer to the last question counts. */
  #asked = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  start(): void {
    const soon = () => document.visibilityState === "visible" && this.check();
    addEventListener("online", soon);
    // A server on this machine is there without a network, too.
    addEventListener("offline", () => void this.check());
    addEventListener(CONNECTION_LOST, () => void this.check());
    document.addEventListener("visibilitychange", soon);
    void this.check();
  }

  check = async (): Promise<void> => {
    clearTimeout(this.#timer);
    this.#asked += 1;
    const mine = this.#asked;
    try {
      const [health, settings] = await Promise.all([
        api.health(),
        this.store.get().reachable && this.store.get().settings
          ? this.store.get().settings
          : api.settings(),
      ]);
      if (mine === this.#asked) {
        const isBack = !this.store.get().reachable;
        this.store.change({ reachable: true, health, settings, since: null });
        this.#learnOff(health);
        if (isBack) this.#tellBack();
        if (isBack) dispatchEvent(new Event(CONNECTION_BACK));
      }
    } catch (error) {
      if (mine === this.#asked && asProblem(error).status === 0) this.lost();
    }
    if (mine !== this.#asked) return;
    if (document.visibilityState === "visible") this.#later();
  };

  /** Kept on this device, so that no room is shown for a moment and goes again. */
  #learnOff({ parts }: Health): void {
    if (!parts) return;
    const off = parts.vault.is_enabled === false ? ["vault"] : [];
    if (off.join() === this.store.get().off.join()) return;
    remember(KEY, { off });
    this.store.change({ off });
  }

  /** For some seconds, the page says that the server is there again. */
  #tellBack(): void {
    this.store.change({ isBack: true });
    setTimeout(() => this.store.change({ isBack: false }), BACK_MS);
  }

  /** Takes in settings that were changed in this page; what works may be other now. */
  learn = (settings: Settings): void => {
    this.store.change({ settings });
    void this.check();
  };

  lost = (): void => {
    // What answered before tells nothing of now.
    this.#asked += 1;
    const { reachable, since } = this.store.get();
    this.store.change({ reachable: false, since: reachable ? Date.now() : since });
    this.#later();
  };

  #later(): void {
    clearTimeout(this.#timer);
    const wait = this.store.get().reachable ? EVERY_MS : WHEN_LOST_MS;
    this.#timer = setTimeout(() => void this.check(), wait);
  }
}
