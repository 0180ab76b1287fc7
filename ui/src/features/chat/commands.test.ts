import { expect, test } from "vitest";
import { hinted } from "./commands";

const names = (text: string) => hinted(text).map((command) => command.name);

test("commands are hinted at while their name is typed, and no longer", () => {
  expect(names("/")).toEqual(["/remember", "/recall", "/forget", "/help"]);
  expect(names("/Re")).toEqual(["/remember", "/recall"]);
  expect(names("/recall")).toEqual(["/recall"]);
  for (const text of ["", "hello /re", "/recall trains", "/nothing", "//"])
    expect(names(text)).toEqual([]);
});
