// Listens once for the whole page; parts of the page say what a binding does while they are shown.
import { remember, remembered, Store } from "../services/store";
import { bindings, isMac, type KeyId } from "./bindings";
import { comboOf, countsWhileWriting, match, SEQUENCE_MS } from "./match";

const KEY = "bethink.keys";
type Handler = () => void;

function isWriting(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

export class KeysService {
  readonly store = new Store(remembered(KEY, { on: true }));
  #handlers = new Map<KeyId, Handler[]>();
  #pending = "";
  #pressedAt = 0;

  start(): void {
    addEventListener("keydown", this.#press);
  }

  turn = (on: boolean): void => {
    this.store.set({ on });
    remember(KEY, { on });
  };

  /** The newest part that answers a binding wins. Gives what takes it back. */
  handle(id: KeyId, handler: Handler): () => void {
    const stack = this.#handlers.get(id) ?? [];
    this.#handlers.set(id, [...stack, handler]);
    return () => {
      const now = this.#handlers.get(id) ?? [];
      this.#handlers.set(
        id,
        now.filter((each) => each !== handler),
      );
    };
  }

  /** Does what the binding does, for a button that stands for it. */
  run = (id: KeyId): void => this.#handlers.get(id)?.at(-1)?.();

  #press = (event: KeyboardEvent): void => {
    if (!this.store.get().on || event.defaultPrevented || event.isComposing) return;
    const mod = isMac() ? event.metaKey : event.ctrlKey;
    const foreign = isMac() ? event.ctrlKey : event.metaKey;
    if (foreign || /^(Shift|Control|Meta|Alt)$/.test(event.key)) return;
    // With Shift this key writes another sign on every keyboard: it is known by its place.
    const key = event.code === "Quote" && event.shiftKey ? "'" : event.key;
    const combo = comboOf({ key, mod, shift: event.shiftKey, alt: event.altKey });
    if (isWriting(event.target) && !countsWhileWriting(combo)) return;
    if (document.querySelector("dialog[open]") && !countsWhileWriting(combo)) return;
    const pending = event.timeStamp - this.#pressedAt < SEQUENCE_MS ? this.#pending : "";
    const matched = match(bindings, pending, combo);
    this.#pending = matched.pending;
    this.#pressedAt = event.timeStamp;
    const handler = matched.id && this.#handlers.get(matched.id as KeyId)?.at(-1);
    if (!handler) return;
    event.preventDefault();
    handler();
  };
}
