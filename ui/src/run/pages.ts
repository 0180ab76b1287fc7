// Reads a long conversation page by page, at both ends of what is held of it.
import { api } from "../api/client";
import type { StoredMessage } from "../api/types";
import type { Store } from "../services/store";
import { endOf, HELD, olderThan, startOf, withNewer, withOlder } from "./past";
import type { SessionView } from "./view";

type Shown = Store<SessionView>;

/** Messages that are read at once, twice as many as at first: whoever scrolls back waits half as often. */
const PAGE = 100;

export const loadOlder = (store: Shown): Promise<void> =>
  load(store, "older", (messages) => {
    const { turns, newer, running } = store.get();
    const all = withOlder(messages, turns);
    // What is being written stays; else as much is let go of at the end as came in front.
    const kept = running ? all : all.slice(0, Math.max(HELD, all.length - turns.length));
    store.change({
      turns: kept,
      older: olderThan(kept),
      newer: newer || kept.length < all.length,
    });
  });

export const loadNewer = (store: Shown): Promise<void> =>
  load(store, "newer", (messages) => {
    const { turns, conversation } = store.get();
    const all = withNewer(turns, messages);
    const kept = all.slice(-Math.max(HELD, all.length - turns.length));
    const end = (endOf(kept.at(-1)) ?? 0) + 1;
    const newer = messages.length > 0 && end < (conversation?.message_count ?? 0);
    store.change({ turns: kept, older: olderThan(kept), newer });
  });

const edgeOf = (way: "older" | "newer", turns: SessionView["turns"]) =>
  way === "older" ? startOf(turns[0]) : endOf(turns.at(-1));

async function load(
  store: Shown,
  way: "older" | "newer",
  take: (messages: readonly StoredMessage[]) => void,
): Promise<void> {
  const { id, older, newer, paging, turns } = store.get();
  if (!id || paging || (way === "older" ? older === null : !newer)) return;
  store.change({ paging: way });
  try {
    const edge = way === "older" ? { before: older } : { after: endOf(turns.at(-1)) };
    const page = await api.conversation(id, { ...edge, limit: PAGE });
    const now = store.get();
    // Another branch, or the newest page, may have been asked for meanwhile.
    if (now.paging === way && edgeOf(way, now.turns) === edgeOf(way, turns)) take(page.messages);
  } catch {
    // The way to ask again stays where it is.
  }
  // Where it was given up meanwhile, what is read now is another's.
  if (store.get().paging === way) store.change({ paging: null });
}
