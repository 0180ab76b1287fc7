import { expect, test } from "vitest";
import { isCommand } from "./commands";

test("a command with its words is one; a beginning, another word, or a command that takes none is not", () => {
  expect(isCommand("/remember I row")).toBe(true);
  expect(isCommand("/forget the boat")).toBe(true);
  for (const text of ["/remember", "/remember ", "/remembering me", "/help me", "/write a letter"])
    expect(isCommand(text)).toBe(false);
});
