// Addresses: the path says what is shown, so that back, reload and a copied link all work.
import { Store } from "./store";

export type Route =
  | { room: "chat"; conversation: string | null; temporary: boolean; at: number | null }
  | { room: "memory"; memory: string | null }
  | ({ room: "settings" } & SettingsPlace)
  | { room: "setup"; step: SetupStep }
  | { room: "vault"; page: string | null; view: VaultView }
  | ({ room: "documents" } & DocumentsPlace)
  | ({ room: "tasks" } & TasksPlace)
  | ({ room: "calendar" } & CalendarPlace)
  | { room: "schedules"; schedule: string | null }
  | { room: "today" }
  | { room: "prompts"; prompt: string | null }
  | { room: "lost"; path: string };

/** Pages of Settings, by their addresses. */
export const settingsPages = [
  "model",
  "assistants",
  "you",
  "import",
  "memory",
  "tools",
  "servers",
  "web",
  "images",
  "code",
  "documents",
  "planner",
  "vault",
  "privacy",
  "backups",
  "keys",
  "redis",
  "connections",
  "advanced",
  "calls",
  "about",
] as const;
export type SettingsPage = (typeof settingsPages)[number];
/** Without a page the list of them; `setting` names the one to show there. */
export type SettingsPlace = { page: SettingsPage | null; setting: string | null };

export const setupSteps = ["model", "history", "about", "ready"] as const;
export type SetupStep = (typeof setupSteps)[number];

export type VaultView = "pages" | (typeof views)[number];
const views = ["graph", "tags", "today", "ask", "check", "filters"] as const;

/** A passage of a document: characters of a page of one of its contents; without them, the whole. */
export type DocumentPlace = { content: string | null; page: number | null; at: Span | null };
export type Span = readonly [begin: number, end: number];

/** A node of the graph in the middle, none for all of it; `from` is where a way to it begins. */
export type GraphPlace = { collection: string | null; node: string | null; from: string | null };

export type DocumentsPlace =
  | { view: "library"; collection: string | null; query: string }
  | { view: "folders" }
  | ({ view: "graph" } & GraphPlace)
  | ({ view: "document"; document: string } & DocumentPlace);

export type TasksView = "list" | "board";
export type TasksPlace = {
  view: TasksView | null;
  task: string | null;
  /** What is shown of them: `status=todo&tag=home`. */
  filter: string;
};

export const calendarViews = ["month", "week", "day", "agenda"] as const;
export type CalendarView = (typeof calendarViews)[number];
/** Without a view the one that was shown last, without a day today. */
export type CalendarPlace =
  | { view: CalendarView | null; day: string | null; event: string | null }
  | { view: "settings" };

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

/** The address of a page of Settings, or of a setting in it. */
export const addressOfSettings = (page: SettingsPage, setting?: string): string =>
  `/settings/${page}${setting ? `?${new URLSearchParams({ setting })}` : ""}`;

/** The address of a page of the vault. */
export const addressOfPage = (path: string): string =>
  `/vault/pages/${path.split("/").map(encodeURIComponent).join("/")}`;

/** The address of the drawing of what is near a page of the vault. */
export const addressOfGraph = (path: string): string =>
  addressOfPage(path).replace("/pages/", "/graph/");

/** The address of the documents of a collection, or of all, and of what is searched in them. */
export function addressOfDocuments(collection: string | null = null, query = ""): string {
  const path = collection
    ? `/documents/collections/${encodeURIComponent(collection)}`
    : "/documents";
  return query ? `${path}?${new URLSearchParams({ query })}` : path;
}

/** The address of the graph: of a collection or of everything, around a node or whole. */
export function addressOfNode(place: Partial<GraphPlace> = {}): string {
  const given = Object.entries(place).filter((pair): pair is [string, string] => Boolean(pair[1]));
  return given.length ? `/documents/graph?${new URLSearchParams(given)}` : "/documents/graph";
}

/** The address of a document, or of a place in it. */
export function addressOfDocument(id: string, place: Partial<DocumentPlace> = {}): string {
  const { content, page, at } = place;
  const given = new URLSearchParams();
  if (content) given.set("content", content);
  if (page) given.set("page", String(page));
  if (at) given.set("at", at.join("-"));
  const path = `/documents/${encodeURIComponent(id)}`;
  return given.size ? `${path}?${given}` : path;
}

/** The address of what a node of the graph stands for, a fact and a page, too; null for a name. */
export function addressOfThing(source: string): string | null {
  if (source.startsWith("fact:")) return `/memory/${encodeURIComponent(source.slice(5))}`;
  if (source.startsWith("vault:")) return addressOfPage(source.slice(6));
  return addressOfSource(source);
}

/** Rooms whose things are named by their id alone. */
const rooms: Readonly<Record<string, (id: string) => string>> = {
  task: (id) => addressOfTasks({ task: id }),
  event: (id) => addressOfEvent(id),
  schedule: (id) => addressOfSchedule(id),
};

/** The address of what a source names, such as `document:<id>?content=…&page=…&at=…` or `event:<id>`; null if it has none. */
export function addressOfSource(source: string): string | null {
  const named = /^(document|task|event|schedule):([^?#\s]+)(?:\?([^#\s]*))?$/.exec(source);
  if (!named) return null;
  const [, kind = "", id = "", query = ""] = named;
  const address = rooms[kind];
  if (address) return address(decoded(id));
  return addressOfDocument(decoded(id), placeIn(new URLSearchParams(query)));
}

function placeIn(given: URLSearchParams): DocumentPlace {
  const [, begin, end] = /^(\d{1,12})-(\d{1,12})$/.exec(given.get("at") ?? "") ?? [];
  const page = given.get("page") ?? "";
  return {
    content: given.get("content"),
    page: /^[1-9]\d{0,8}$/.test(page) ? Number(page) : null,
    at: begin && end ? [Number(begin), Number(end)] : null,
  };
}

function documentsRoute(parts: readonly string[], given: URLSearchParams, path: string): Route {
  const [first, second, third] = parts;
  const room = "documents";
  const query = given.get("query") ?? "";
  if (!first) return { room, view: "library", collection: null, query };
  if (first === "collections" && second && !third) {
    return { room, view: "library", collection: second, query };
  }
  if (first === "folders" && !second) return { room, view: "folders" };
  if (first === "graph" && !second) {
    const [collection, node, from] = ["collection", "node", "from"].map((key) => given.get(key));
    return {
      room,
      view: "graph",
      collection: collection ?? null,
      node: node ?? null,
      from: from ?? null,
    };
  }
  if (second || first === "collections") return { room: "lost", path };
  return { room, view: "document", document: first, ...placeIn(given) };
}

/** The address of the tasks that pass a filter, or of one beside them. */
export function addressOfTasks(place: Partial<TasksPlace> = {}): string {
  const { view, task, filter } = place;
  const path = task ? `/tasks/${encodeURIComponent(task)}` : view ? `/tasks/${view}` : "/tasks";
  return filter ? `${path}?${filter}` : path;
}

/** The address of days of the calendar. */
export const addressOfCalendar = (view: CalendarView, day: string): string =>
  `/calendar/${view}/${day}`;

/** The address of an event, or of one instance of a series. */
export const addressOfEvent = (id: string): string => `/calendar/events/${encodeURIComponent(id)}`;

/** The address of a schedule. */
export const addressOfSchedule = (id: string): string => `/schedules/${encodeURIComponent(id)}`;

function tasksRoute([first, second]: readonly string[], filter: string, path: string): Route {
  const room = "tasks";
  if (second) return { room: "lost", path };
  if (!first) return { room, view: null, task: null, filter };
  if (first === "list" || first === "board") return { room, view: first, task: null, filter };
  return { room, view: null, task: first, filter };
}

function calendarRoute([first, second, third]: readonly string[], path: string): Route {
  const room = "calendar";
  if (!first) return { room, view: null, day: null, event: null };
  if (first === "settings" && !second) return { room, view: "settings" };
  if (first === "events" && second && !third) {
    const [, day = null] = /@(\d{4}-\d\d-\d\d)/.exec(second) ?? [];
    return { room, view: null, day, event: second };
  }
  const view = calendarViews.find((name) => name === first);
  const isDate = second === undefined || /^\d{4}-\d\d-\d\d$/.test(second);
  if (!view || !isDate || third) return { room: "lost", path };
  return { room, view, day: second ?? null, event: null };
}

function settingsRoute(name: string | undefined, query: string, path: string): Route {
  const page = settingsPages.find((each) => each === name) ?? null;
  if (name && !page) return { room: "lost", path };
  return { room: "settings", page, setting: new URLSearchParams(query).get("setting") };
}

function vaultRoute([view = "pages", ...parts]: readonly string[], path: string): Route {
  if (view === "pages") return { room: "vault", page: parts.join("/") || null, view };
  if (view === "graph" && parts.length) return { room: "vault", page: parts.join("/"), view };
  const known = views.find((name) => name === view);
  return known && !parts.length
    ? { room: "vault", page: null, view: known }
    : { room: "lost", path };
}

export function routeOf(address: string): Route {
  const [path = "", query = ""] = address.split("?", 2);
  const [first = "", ...rest] = path.split("/").filter(Boolean).map(decoded);
  const [second, third] = rest;
  const chat = { room: "chat", conversation: null, temporary: false, at: null } as const;
  if (first === "") return chat;
  if (first === "temporary" && !second) return { ...chat, temporary: true };
  if (first === "c" && second) return { ...chat, conversation: second, at: placeOf(third) };
  if (first === "memory") return { room: "memory", memory: second ?? null };
  if (first === "settings" && !third) return settingsRoute(second, query, path);
  if (first === "setup" && !third) {
    const step = setupSteps.find((name) => name === (second ?? "model"));
    return step ? { room: "setup", step } : { room: "lost", path };
  }
  if (first === "vault") return vaultRoute(rest, path);
  if (first === "documents") return documentsRoute(rest, new URLSearchParams(query), path);
  if (first === "tasks") return tasksRoute(rest, query, path);
  if (first === "calendar") return calendarRoute(rest, path);
  if (first === "schedules" && !third) return { room: "schedules", schedule: second ?? null };
  if (first === "today" && !second) return { room: "today" };
  if (first === "prompts" && !third) return { room: "prompts", prompt: second ?? null };
  return { room: "lost", path };
}

const here = () => location.pathname + location.search;

/** A step in the history of the tab: entries are numbered as they are made. */
export type Entry = { from: number; at: number; isBack: boolean };
type Hear = (entry: Entry) => void;

class Steps {
  #hears = new Set<Hear>();

  hear(hear: Hear): void {
    this.#hears.add(hear);
  }

  tell(entry: Entry): void {
    for (const hear of this.#hears) hear(entry);
  }
}

const numberIn = (state: unknown): number => {
  const at = (state as { at?: unknown } | null)?.at;
  return typeof at === "number" ? at : 0;
};

export class Router {
  /** The path with its query. */
  readonly path = new Store(here());
  /** Another entry is about to be shown; what is on the page still is what is left. */
  readonly leaving = new Steps();
  readonly arrived = new Steps();
  #at = numberIn(history.state);

  constructor() {
    addEventListener("popstate", ({ state }) => {
      // A place within the page is no other entry.
      if (here() !== this.path.get()) this.#step(numberIn(state), here(), true);
    });
  }

  go = (path: string, replace = false): void => {
    if (path === this.path.get()) return;
    const at = replace ? this.#at : this.#at + 1;
    if (replace) history.replaceState({ at }, "", path);
    else history.pushState({ at }, "", path);
    if (replace) this.path.set(path);
    else this.#step(at, path, false);
  };

  /** Goes on from an address, unless its reader has gone elsewhere meanwhile. */
  goOn = (from: string, path: string, replace = false): void => {
    if (this.path.get() === from) this.go(path, replace);
  };

  /** Sets one parameter of the query of this address, or takes it away; no new entry is made. */
  query = (name: string, value: string | null): void => {
    const [path = "", query] = this.path.get().split("?", 2);
    const given = new URLSearchParams(query);
    if (value) given.set(name, value);
    else given.delete(name);
    this.go(given.size ? `${path}?${given}` : path, true);
  };

  #step(at: number, path: string, isBack: boolean): void {
    const entry = { from: this.#at, at, isBack };
    this.leaving.tell(entry);
    this.#at = at;
    this.path.set(path);
    this.arrived.tell(entry);
  }
}

/** A parameter of the query of an address. */
export const parameterOf = (address: string, name: string): string =>
  new URLSearchParams(address.split("?", 2)[1]).get(name) ?? "";
