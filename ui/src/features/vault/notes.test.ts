import { expect, test } from "vitest";
import { dailyPath, dailyTemplate, filled, templatesIn } from "./notes";

const notes = { daily_folder: "daily", daily_name: "YYYY-MM-DD", templates: "templates" };
const now = new Date(2026, 10, 4, 9, 5);

test("a note of a day has the path that the settings say", () => {
  expect(dailyPath(notes, now)).toBe("daily/2026-11-04.md");
  expect(dailyPath({ ...notes, daily_folder: "", daily_name: "YYYY/MM/YYYY-MM-DD" }, now)).toBe(
    "2026/11/2026-11-04.md",
  );
  expect(dailyPath({ ...notes, daily_folder: "/a/b/", daily_name: "YYYYMMDD.md" }, now)).toBe(
    "a/b/20261104.md",
  );
});

test("a template's blanks are filled in, and nothing else of it changes", () => {
  expect(filled("# {{title}}\r\n{{ Date }} {{time}} {{other}}\n", "A $& b", now)).toBe(
    "# A $& b\r\n2026-11-04 09:05 {{other}}\n",
  );
});

test("templates are the pages of their folder, and one is that of days", () => {
  const paths = ["templates/Daily.md", "templates/work/plan.md", "template.md"];
  expect(templatesIn(paths, notes)).toEqual(["templates/Daily.md", "templates/work/plan.md"]);
  expect(dailyTemplate(paths, notes)).toBe("templates/Daily.md");
  expect(templatesIn(paths, { ...notes, templates: "" })).toEqual([]);
});
