import { expect, test } from "vitest";
import { type NamedSource, namedIn, withNamed } from "./named";

const sources: readonly NamedSource[] = [
  { kind: "document", id: "d1", name: "Acme, final (2)" },
  { kind: "collection", id: "c1", name: "Contracts" },
  { kind: "page", id: "trips/lisbon.md", name: "lisbon" },
];

test("what a message is about is named in its last line, and found in it again", () => {
  const said = withNamed("When does it end?", sources);
  expect(said).toBe(
    "When does it end?\n\nAbout: “Acme, final (2)” (document:d1), the collection “Contracts” (collection:c1), the page “lisbon” of the vault (file_path: trips/lisbon.md)",
  );
  expect(namedIn(said)).toEqual({ text: "When does it end?", sources });
});

test("a line that somebody wrote is theirs", () => {
  for (const said of ["Hello", "x\n\nAbout: my day", "x\n\nAbout: “a” (document:1) and more"])
    expect(namedIn(said)).toEqual({ text: said, sources: [] });
  expect(withNamed("Hello", [])).toBe("Hello");
});
