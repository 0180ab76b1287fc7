// What was typed and is not saved yet, kept by this tab of the browser over a reload. `pageDraft` keeps and forgets it.
// A tab's own storage: another tab does not take up what is still being typed in this one, and closing it clears it.

/** A text that is not saved, and the page that it is a change of. */
export type Kept = { text: string; version: string; base: string };

export type KeptDrafts = {
  /** Settled once it is known whose drafts these are. */
  ready: Promise<unknown>;
  find: (path: string) => Kept | null;
  keep: (path: string, kept: Kept) => void;
  /** Forgets what is kept of a page; where a text is given, only if it is this one. */
  forget: (path: string, text?: string) => void;
};

function isKept(value: unknown): value is Kept {
  const { text, version, base } = (value ?? {}) as Partial<Kept>;
  return [text, version, base].every((part) => typeof part === "string");
}

/** The drafts of one person in a storage. */
export function keptDrafts(storage: Storage, owner: () => string, ready: Promise<unknown>) {
  const keyOf = (path: string) => `bethink.draft ${owner()} ${path}`;
  const find = (path: string): Kept | null => {
    try {
      const value: unknown = JSON.parse(storage.getItem(keyOf(path)) ?? "null");
      return isKept(value) ? value : null;
    } catch {
      return null;
    }
  };
  const forget = (path: string, text?: string) => {
    if (text !== undefined && find(path)?.text !== text) return;
    storage.removeItem(keyOf(path));
  };
  const keep = (path: string, kept: Kept) => {
    try {
      storage.setItem(keyOf(path), JSON.stringify(kept));
    } catch {
      // No room for it: an older text must not come back in its place. Leaving asks all the same.
      forget(path);
    }
  };
  return { ready, find, keep, forget } satisfies KeptDrafts;
}
