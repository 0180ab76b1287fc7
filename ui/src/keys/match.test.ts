import { describe, expect, test } from "vitest";
import { bindings, boundWith, inTheWay, isTaken, printed } from "./bindings";
import { comboOf, countsWhileWriting, match } from "./match";

const press = (key: string, held: Partial<{ mod: boolean; shift: boolean; alt: boolean }> = {}) =>
  comboOf({ key, mod: false, shift: false, alt: false, ...held });

describe("keys", () => {
  test("are written as the bindings are", () => {
    expect(press("O", { mod: true, shift: true })).toBe("mod+shift+o");
    expect(press("Escape", { shift: true })).toBe("shift+escape");
    expect(press("'", { mod: true, shift: true })).toBe("mod+shift+'");
    expect(press("?", { shift: true })).toBe("?");
  });

  test("find their binding", () => {
    expect(match(bindings, "", "mod+k")).toEqual({ id: "palette", pending: "" });
    expect(match(bindings, "", "q")).toEqual({ id: null, pending: "" });
  });

  test("complete a sequence, and start anew when they do not", () => {
    expect(match(bindings, "", "g")).toEqual({ id: null, pending: "g" });
    expect(match(bindings, "g", "m")).toEqual({ id: "go-memory", pending: "" });
    expect(match(bindings, "g", "j")).toEqual({ id: "down", pending: "" });
    expect(match(bindings, "g", "k")).toEqual({ id: "go-calendar", pending: "" });
  });

  test("that are letters do nothing while somebody writes", () => {
    const usable = bindings.filter(({ combo }) => countsWhileWriting(combo)).map(({ id }) => id);
    expect(usable).toEqual([
      "palette",
      "new",
      "temporary",
      "shortcuts",
      "focus-composer",
      "stop",
      "copy-answer",
      "find",
    ]);
  });

  test("are never bound twice", () => {
    expect(new Set(bindings.map(({ combo }) => combo)).size).toBe(bindings.length);
  });

  test("are what somebody chose, else the usual ones", () => {
    const bound = boundWith({ palette: "mod+p", stop: "" });
    expect(match(bound, "", "mod+p").id).toBe("palette");
    expect(match(bound, "", "mod+k").id).toBeNull();
    expect(match(bound, "", "mod+.").id).toBeNull();
    expect(match(bound, "", "?").id).toBe("shortcuts");
  });

  test("tell what is in the way, also the beginning of a sequence", () => {
    expect(inTheWay({}, "stop", "mod+k")).toBe("palette");
    expect(inTheWay({}, "palette", "mod+k")).toBeNull();
    expect(inTheWay({}, "stop", "g")).toBe("go-chat");
    expect(inTheWay({}, "stop", "j j")).toBe("down");
    expect(inTheWay({ palette: "" }, "stop", "mod+k")).toBeNull();
    expect(isTaken("mod+t")).toBe(true);
    expect(isTaken("mod+j")).toBe(false);
  });

  test("are printed as they are on the keyboard", () => {
    expect(printed("mod+shift+o", true)).toEqual(["⌘", "⇧", "O"]);
    expect(printed("g m", false)).toEqual(["G", "M"]);
  });
});
