import { expect, test, vi } from "vitest";
import { SharedSource } from "./sharedSource";

class Stream {
  static last: Stream;
  onmessage: (told: { data: string; lastEventId: string }) => void = () => undefined;
  constructor() {
    Stream.last = this;
  }
}

test("the word that ends a stream is no news", () => {
  vi.stubGlobal("navigator", {});
  vi.stubGlobal("EventSource", Stream);
  const told: unknown[] = [];
  new SharedSource("bethink.news", {
    address: () => "/news",
    place: () => "1",
    onOpen: () => undefined,
    onTold: (one) => told.push(one),
  });
  Stream.last.onmessage({ data: "{}", lastEventId: "2" });
  Stream.last.onmessage({ data: "[DONE]", lastEventId: "2" });
  Stream.last.onmessage({ data: "{}", lastEventId: "3" });
  expect(told).toEqual([
    { data: "{}", after: "1" },
    { data: "{}", after: "2" },
  ]);
  vi.unstubAllGlobals();
});
