// Addresses: the path says what is shown, so that back, reload and a copied link all work.
import { Store } from "./store";

export type Route =
  | { room: "chat"; conversation: string | null; temporary: boolean; at: number | null }
  | { room: "memory"; memory: string | null }
  | { room: "settings"; page: SettingsPage }
  | { room: "vault"; page: string | null; view: VaultView }
  | { room: "documents" | "tasks" | "calendar" }
  | { room: "lost"; path: string };

export type SettingsPage = "general" | "tools" | "servers" | "calls" | "keys" | "import";

export type VaultView = "pages" | "graph" | "ask" | "check" | "filters";
const views = ["ask", "check", "filters"] as const;

const plain = ["documents", "tasks", "calendar"] as const;
const settings = ["tools", "servers", "calls", "keys", "import"] as const;

/** A part of an address as it was meant; one that is not encoded well is taken as it stands. */
export function decoded(part: string): string {
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

/** The address of a page of the vault. */
export const addressOfPage = (path: string): string =>
  `/vault/pages/${path.split("/").map(encodeURIComponent).join("/")}`;

/** The address of the drawing of what is near a page of the vault. */
export const addressOfGraph = (path: string): string =>
  addressOfPage(path).replace("/pages/", "/graph/");

function vaultRoute([view = "pages", ...parts]: readonly string[], path: string): Route {
  if (view === "pages") return { room: "vault", page: parts.join("/") || null, view };
  if (view === "graph" && parts.length) return { room: "vault", page: parts.join("/"), view };
  const known = views.find((name) => name === view);
  return known && !parts.length
    ? { room: "vault", page: null, view: known }
    : { room: "lost", path };
}

export function routeOf(path: string): Route {
  const [first = "", ...rest] = path.split("/").filter(Boolean).map(decoded);
  const [second, third] = rest;
  const chat = { room: "chat", conversation: null, temporary: false, at: null } as const;
  if (first === "") return chat;
  if (first === "temporary" && !second) return { ...chat, temporary: true };
  if (first === "c" && second) return { ...chat, conversation: second, at: placeOf(third) };
  if (first === "memory") return { room: "memory", memory: second ?? null };
  if (first === "settings") {
    const page = second ? settings.find((name) => name === second) : "general";
    return page ? { room: "settings", page } : { room: "lost", path };
  }
  if (first === "vault") return vaultRoute(rest, path);
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

  /** Goes on from an address, unless its reader has gone elsewhere meanwhile. */
  goOn = (from: string, path: string, replace = false): void => {
    if (this.path.get() === from) this.go(path, replace);
  };
}
