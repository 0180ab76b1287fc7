// Addresses: the path says what is shown, so that back, reload and a copied link all work.
import { Store } from "./store";

export type Route =
  | { room: "chat"; conversation: string | null; temporary: boolean; at: number | null }
  | { room: "memory"; memory: string | null }
  | { room: "settings"; page: SettingsPage }
  | { room: "vault" | "documents" | "tasks" | "calendar" }
  | { room: "lost"; path: string };

export type SettingsPage = "general" | "tools" | "servers" | "calls" | "keys";

const plain = ["vault", "documents", "tasks", "calendar"] as const;
const settings = ["tools", "servers", "calls", "keys"] as const;

/** A part of an address as it was meant; one that is not encoded well is taken as it stands. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** A place in a conversation: the position of one of its messages. */
function placeOf(part: string | undefined): number | null {
  return part && /^\d{1,9}$/.test(part) ? Number(part) : null;
}

/** The address of a conversation, or of a message in it. */
export const addressOfChat = (id: string, at?: number): string =>
  `/c/${encodeURIComponent(id)}${at === undefined ? "" : `/${at}`}`;

export function routeOf(path: string): Route {
  const [first = "", second, third] = path.split("/").filter(Boolean).map(decoded);
  const chat = { room: "chat", conversation: null, temporary: false, at: null } as const;
  if (first === "") return chat;
  if (first === "temporary" && !second) return { ...chat, temporary: true };
  if (first === "c" && second) return { ...chat, conversation: second, at: placeOf(third) };
  if (first === "memory") return { room: "memory", memory: second ?? null };
  if (first === "settings") {
    const page = second ? settings.find((name) => name === second) : "general";
    return page ? { room: "settings", page } : { room: "lost", path };
  }
  const room = plain.find((name) => name === first);
  return room && !second ? { room } : { room: "lost", path };
}

export class Router {
  readonly path = new Store(location.pathname);

  constructor() {
    addEventListener("popstate", () => this.path.set(location.pathname));
  }

  go = (path: string, replace = false): void => {
    if (path === this.path.get()) return;
    history[replace ? "replaceState" : "pushState"](null, "", path);
    this.path.set(path);
  };
}
