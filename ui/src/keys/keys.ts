// Listens once for the whole page; parts of the page say what a binding does while they are shown.
import { remember, remembered, Store } from "../services/store";
import { bindings, boundWith, inTheWay, isMac, type KeyId, type Own } from "./bindings";
import { comboOf, countsWhileWriting, match, SEQUENCE_MS } from "./match";

const KEY = "bethink.keys";
type Handler = () => void;
export type KeysChoice = { on: boolean; own: Own };

function isWriting(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

/** The combination that an event of the keyboard is; null for a key that is only held, or another system's. */
export function pressed(event: KeyboardEvent): string | null {
  const mod = isMac() ? event.metaKey : event.ctrlKey;
  const foreign = isMac() ? event.ctrlKey : event.metaKey;
  if (foreign || /^(Shift|Control|Meta|Alt|AltGraph|Dead|Process)$/.test(event.key)) return null;
  // With Shift this key writes another sign on every keyboard: it is known by its place.
  const key = event.code === "Quote" && event.shiftKey ? "'" : event.key;
  return comboOf({ key, mod, shift: event.shiftKey, alt: event.altKey });
}

export class KeysService {
  readonly store = new Store<KeysChoice>(remembered<KeysChoice>(KEY, { on: true, own: {} }));
  #handlers = new Map<KeyId, Handler[]>();
  #pending = "";
  #pressedAt = 0;

  start(): void {
    addEventListener("keydown", this.#press);
  }

  turn = (on: boolean): void => this.#choose({ on });

  /** Gives a binding another combination; an empty one takes it away. What had it before has none then. */
  bind = (id: KeyId, combo: string): void => {
    const { own } = this.store.get();
    const other = combo ? inTheWay(own, id, combo) : null;
    this.#choose({ own: { ...own, ...(other ? { [other]: "" } : {}), [id]: combo } });
  };

  /** Back to the usual combination, or all of them. */
  reset = (id?: KeyId): void => {
    const usual = bindings.find((each) => each.id === id)?.combo;
    if (id && usual) this.bind(id, usual);
    const { own } = this.store.get();
    const others = Object.entries(own).filter(([each]) => id && each !== id);
    this.#choose({ own: Object.fromEntries(others) });
  };

  /** The combination of a binding now; empty if it has none. */
  comboOf = (id: KeyId): string =>
    this.store.get().own[id] ?? bindings.find((each) => each.id === id)?.combo ?? "";

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

  #choose(patch: Partial<KeysChoice>): void {
    this.store.change(patch);
    remember(KEY, this.store.get());
  }

  #press = (event: KeyboardEvent): void => {
    const { on, own } = this.store.get();
    if (!on || event.defaultPrevented || event.isComposing) return;
    const combo = pressed(event);
    if (combo === null) return;
    const isHeldUp = isWriting(event.target) || document.querySelector("dialog[open], [role=menu]");
    if (isHeldUp && !countsWhileWriting(combo)) return;
    const pending = event.timeStamp - this.#pressedAt < SEQUENCE_MS ? this.#pending : "";
    const matched = match(boundWith(own), pending, combo);
    this.#pending = matched.pending;
    this.#pressedAt = event.timeStamp;
    const handler = matched.id && this.#handlers.get(matched.id as KeyId)?.at(-1);
    if (!handler) return;
    event.preventDefault();
    handler();
  };
}
