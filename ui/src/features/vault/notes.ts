// Notes of days, and pages that are made from templates. Pure.
import type { Notes } from "./following";
import { titleOf } from "./treeRows";

const two = (n: number) => String(n).padStart(2, "0");
const dayOf = (now: Date) => [
  String(now.getFullYear()),
  two(now.getMonth() + 1),
  two(now.getDate()),
];

/** Where the note of a day lies. */
export function dailyPath({ daily_folder: folder, daily_name: name }: Notes, now: Date): string {
  const [year = "", month = "", day = ""] = dayOf(now);
  const said = name.replaceAll("YYYY", year).replaceAll("MM", month).replaceAll("DD", day);
  const path = [folder, said].join("/").split("/").filter(Boolean).join("/");
  return `${path.replace(/\.md$/i, "")}.md`;
}

/** The templates there are, by the settings. */
export const templatesIn = (paths: readonly string[], { templates }: Notes): string[] =>
  templates ? paths.filter((path) => path.startsWith(`${templates.replace(/\/+$/, "")}/`)) : [];

/** The template of daily notes, if there is one. */
export const dailyTemplate = (paths: readonly string[], notes: Notes): string | null =>
  templatesIn(paths, notes).find((path) => titleOf(path).toLowerCase() === "daily") ?? null;

/** A template with its blanks filled in: `{{date}}`, `{{time}}` and `{{title}}`. */
export function filled(template: string, title: string, now: Date): string {
  const values: Record<string, string> = {
    date: dayOf(now).join("-"),
    time: `${two(now.getHours())}:${two(now.getMinutes())}`,
    title,
  };
  return template.replace(/\{\{\s*(date|time|title)\s*\}\}/gi, (all, name: string) => {
    return values[name.toLowerCase()] ?? all;
  });
}
