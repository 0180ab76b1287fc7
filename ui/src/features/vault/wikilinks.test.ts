import { expect, test } from "vitest";
import { addressed, openLink, Pages, partsOf, pathFor } from "./wikilinks";

const pages = new Pages(["user.md", "entities/jane_doe.md", "notes/user.md", "notes/plan.md"]);

test("a link finds its page by path, name, or place beside its own", () => {
  expect(pages.resolve("entities/jane_doe.md", "user.md")).toBe("entities/jane_doe.md");
  expect(pages.resolve("Jane_Doe", "user.md")).toBe("entities/jane_doe.md");
  expect(pages.resolve("user", "notes/plan.md")).toBe("user.md");
  expect(pages.resolve("../entities/jane_doe.md", "notes/plan.md")).toBe("entities/jane_doe.md");
  expect(pages.resolve("plan.md", "notes/user.md")).toBe("notes/plan.md");
  expect(pages.resolve("", "user.md")).toBe("user.md");
  expect(pages.resolve("nobody", "user.md")).toBeNull();
});

test("a page is named as shortly as leads to it", () => {
  expect(pages.shortest("entities/jane_doe.md", "user.md")).toBe("jane_doe");
  expect(pages.shortest("notes/user.md", "entities/jane_doe.md")).toBe("notes/user");
});

test("a link is taken apart", () => {
  expect(partsOf("jane_doe|her")).toEqual({ target: "jane_doe", label: "her" });
  expect(partsOf("a/jane_doe.md")).toEqual({ target: "a/jane_doe.md", label: "jane_doe" });
  expect(partsOf("jane_doe#Work")).toEqual({ target: "jane_doe", label: "jane_doe › Work" });
  expect(partsOf("jane_doe\\|her").label).toBe("her");
});

test("a link that is being typed is known by its caret", () => {
  expect(openLink("see [[ja", 8)).toEqual({ start: 6, typed: "ja" });
  expect(openLink("see [[", 6)).toEqual({ start: 6, typed: "" });
  expect(openLink("see [[ja]] and", 14)).toBeNull();
  expect(openLink("see [[ja\nx", 10)).toBeNull();
  expect(openLink("see", 3)).toBeNull();
});

test("a missing page gets the path that its link names", () => {
  expect(pathFor("entities/new_one")).toBe("entities/new_one.md");
  expect(pathFor("/x.md")).toBe("x.md");
});

test("an answer's links between pages lead to their addresses, and what is not made is only named", () => {
  expect(addressed("See [[jane_doe|her]] and [[nobody]].", pages)).toBe(
    "See [her](</vault/pages/entities/jane_doe.md>) and nobody.",
  );
  const code = "`[[jane_doe]]`\n```\n[[jane_doe]]\n```\n";
  expect(addressed(code, pages)).toBe(code);
  const odd = new Pages(["a (b) [c].md"]);
  expect(addressed("[[a (b) [c].md]]", odd)).toBe("[[a (b) [c].md]]");
  expect(addressed("[[a (b|x]]", new Pages(["a (b.md"]))).toBe("[x](</vault/pages/a%20(b.md>)");
});
