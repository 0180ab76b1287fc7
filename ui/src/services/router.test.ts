import { expect, test } from "vitest";
import { routeOf } from "./router";

test("every address leads to its room", () => {
  expect(routeOf("/")).toEqual({ room: "chat", conversation: null });
  expect(routeOf("/c/0190-ab")).toEqual({ room: "chat", conversation: "0190-ab" });
  expect(routeOf("/memory/")).toEqual({ room: "memory", memory: null });
  expect(routeOf("/memory/f%201")).toEqual({ room: "memory", memory: "f 1" });
  expect(routeOf("/settings")).toEqual({ room: "settings", page: "general" });
  expect(routeOf("/settings/tools")).toEqual({ room: "settings", page: "tools" });
  expect(routeOf("/settings/stars")).toEqual({ room: "lost", path: "/settings/stars" });
  expect(routeOf("/c")).toEqual({ room: "lost", path: "/c" });
  expect(routeOf("/tasks/9")).toEqual({ room: "lost", path: "/tasks/9" });
  expect(routeOf("/%E0%A4%A")).toEqual({ room: "lost", path: "/%E0%A4%A" });
});
