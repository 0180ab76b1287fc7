// What was typed as a message and not sent yet, kept by this tab of the browser over a reload, as the drafts
// of the vault's pages are. Signing out forgets it; another person's words are never found.

const PREFIX = "bethink.words ";

/** The words of one person in a storage, each by the address at which they were typed. */
export class KeptWords {
  /** Settled once it is known whose words these are. Nothing is kept or found before. */
  readonly ready: Promise<void>;
  #storage: Storage;
  #owner: string | null = null;

  constructor(storage: Storage, owner: () => string, ready: Promise<unknown>) {
    this.#storage = storage;
    this.ready = ready.then(() => {
      this.#owner = owner();
    });
  }

  find(place: string): string {
    return (this.#owner !== null && this.#storage.getItem(this.#keyOf(place))) || "";
  }

  keep(place: string, words: string): void {
    if (this.#owner === null) return;
    this.#storage.removeItem(this.#keyOf(place));
    if (!words) return;
    try {
      this.#storage.setItem(this.#keyOf(place), words);
    } catch {
      // No room for it. Leaving asks then.
    }
  }

  forget(): void {
    const { length } = this.#storage;
    const keys = Array.from({ length }, (_, at) => this.#storage.key(at) ?? "");
    for (const key of keys) if (key.startsWith(PREFIX)) this.#storage.removeItem(key);
  }

  #keyOf(place: string): string {
    return `${PREFIX}${this.#owner} ${place}`;
  }
}
