import { expect, test } from "vitest";
import type { VaultChoice } from "../../api/types";
import type { Finding } from "./CheckPage";
import { ways } from "./Fixes";

const choice = (way: VaultChoice["way"], isSure = false): VaultChoice => ({
  way,
  path: "a.md",
  target: "",
  to: "",
  said: way,
  is_sure: isSure,
});
const finding = (...choices: VaultChoice[]): Finding => ({
  kind: "broken_link",
  path: "a.md",
  line: 1,
  said: "",
  near: [],
  choices,
});

test("several findings are mended in one way; links are led only where that is beyond doubt", () => {
  const found = [
    finding(choice("lead", true), choice("lead"), choice("unlink")),
    finding(choice("lead"), choice("create"), choice("unlink")),
    finding(choice("lead", true), choice("unlink")),
  ];
  const counts = [...ways(found)].map(([way, choices]) => [way, choices.length]);
  expect(counts).toEqual([
    ["lead", 2],
    ["unlink", 3],
  ]);
});
