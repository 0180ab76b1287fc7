import { expect, test } from "vitest";
import {
  addressOfChat,
  addressOfDocument,
  addressOfDocuments,
  addressOfGraph,
  addressOfNode,
  addressOfPage,
  addressOfSource,
  addressOfThing,
  routeOf,
} from "./router";

test("every address leads to its room", () => {
  const chat = { room: "chat", conversation: null, temporary: false, at: null };
  expect(routeOf("/")).toEqual(chat);
  expect(routeOf("/temporary")).toEqual({ ...chat, temporary: true });
  expect(routeOf("/c/0190-ab")).toEqual({ ...chat, conversation: "0190-ab" });
  expect(routeOf("/c/0190-ab/12")).toEqual({ ...chat, conversation: "0190-ab", at: 12 });
  expect(routeOf("/c/0190-ab/x")).toEqual({ ...chat, conversation: "0190-ab" });
  expect(routeOf(addressOfChat("a b", 3))).toEqual({ ...chat, conversation: "a b", at: 3 });
  expect(routeOf("/memory/")).toEqual({ room: "memory", memory: null });
  expect(routeOf("/memory/f%201")).toEqual({ room: "memory", memory: "f 1" });
  expect(routeOf("/settings")).toEqual({ room: "settings", page: null, setting: null });
  expect(routeOf("/settings/tools?setting=max_steps")).toEqual({
    room: "settings",
    page: "tools",
    setting: "max_steps",
  });
  expect(routeOf("/setup")).toEqual({ room: "setup", step: "model" });
  expect(routeOf("/setup/about")).toEqual({ room: "setup", step: "about" });
  expect(routeOf("/setup/stars")).toEqual({ room: "lost", path: "/setup/stars" });
  expect(routeOf("/settings/stars")).toEqual({ room: "lost", path: "/settings/stars" });
  expect(routeOf("/vault")).toEqual({ room: "vault", page: null, view: "pages" });
  const page = "entities/jane doe #1.md";
  expect(routeOf(addressOfPage(page))).toEqual({ room: "vault", page, view: "pages" });
  expect(routeOf(addressOfGraph(page))).toEqual({ room: "vault", page, view: "graph" });
  expect(routeOf("/vault/graph")).toEqual({ room: "vault", page: null, view: "graph" });
  expect(routeOf("/vault/ask")).toEqual({ room: "vault", page: null, view: "ask" });
  expect(routeOf("/vault/check")).toEqual({ room: "vault", page: null, view: "check" });
  expect(routeOf("/vault/stars")).toEqual({ room: "lost", path: "/vault/stars" });
  expect(routeOf("/c")).toEqual({ room: "lost", path: "/c" });
  expect(routeOf("/tasks/9/8")).toEqual({ room: "lost", path: "/tasks/9/8" });
  expect(routeOf("/%E0%A4%A")).toEqual({ room: "lost", path: "/%E0%A4%A" });
});

test("a place in a document has an address, and a source leads to it", () => {
  const room = "documents";
  const library = { room, view: "library", collection: null, query: "" };
  expect(routeOf("/documents")).toEqual(library);
  expect(routeOf(addressOfDocuments("c 1", "rent & tax"))).toEqual({
    ...library,
    collection: "c 1",
    query: "rent & tax",
  });
  expect(routeOf("/documents/folders")).toEqual({ room, view: "folders" });
  const nowhere = { content: null, page: null, at: null };
  const document = { room, view: "document", document: "d1", ...nowhere };
  expect(routeOf("/documents/d1")).toEqual(document);
  expect(routeOf("/documents/d1?page=x&at=7")).toEqual(document);
  expect(routeOf("/documents/d1/more").room).toBe("lost");
  expect(routeOf("/documents/collections").room).toBe("lost");
  const place = { content: "ab12", page: 3, at: [10, 42] as const };
  expect(routeOf(addressOfDocument("d1", place))).toEqual({ ...document, ...place });
  const source = addressOfSource("document:d1?content=ab12&page=3&at=10-42");
  expect(source && routeOf(source)).toEqual({ ...document, ...place });
  expect(addressOfSource("conversation:c1#r2")).toBeNull();
  expect(addressOfSource("task:t1")).toBe("/tasks/t1");
  expect(addressOfSource("event:e1@2026-12-01T10:00:00")).toBe(
    "/calendar/events/e1%402026-12-01T10%3A00%3A00",
  );
  expect(addressOfSource("schedule:s1")).toBe("/schedules/s1");
});

test("a node of the graph has an address, and leads to what it stands for", () => {
  const all = { room: "documents", view: "graph", collection: null, node: null, from: null };
  expect(routeOf(addressOfNode())).toEqual(all);
  const place = { collection: "c1", node: "name:ada & co", from: "page:a/b.md" };
  expect(routeOf(addressOfNode(place))).toEqual({ ...all, ...place });
  expect(routeOf("/documents/graph/more").room).toBe("lost");
  expect(addressOfThing("fact:f1")).toBe("/memory/f1");
  expect(addressOfThing("vault:entities/jane doe.md")).toBe("/vault/pages/entities/jane%20doe.md");
  expect(addressOfThing("document:d1")).toBe("/documents/d1");
});
