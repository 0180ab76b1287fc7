// What stands in the list, from its top to its end: headings, projects, conversations.
import type { Project } from "../../../api/projects";
import type { Conversation } from "../../../api/types";
import { t } from "../../../i18n";
import { dayGroup } from "../../../services/words";

export type Row =
  | { kind: "heading"; key: string; name: string }
  | { kind: "project"; key: string; project: Project; open: boolean }
  | { kind: "conversation"; key: string; item: Conversation; inside: boolean };

const asRow = (item: Conversation, inside = false): Row => ({
  kind: "conversation",
  key: item.id,
  item,
  inside,
});

/** Conversations under the day, week or month that they were last used in; the order is kept. */
export function byDay(items: readonly Conversation[], now: number): Row[] {
  const groups = new Map<string, Conversation[]>();
  for (const item of items) {
    const name = dayGroup(Date.parse(item.updated_at), now);
    const group = groups.get(name);
    if (group) group.push(item);
    else groups.set(name, [item]);
  }
  return [...groups].flatMap(([name, inside]): Row[] => [
    { kind: "heading", key: `day ${name}`, name },
    ...inside.map((item) => asRow(item)),
  ]);
}

/** Projects of which something is said, and those that conversations merely name. */
export function projectsOf(
  projects: readonly Project[],
  items: readonly Pick<Conversation, "project">[],
): readonly Project[] {
  const known = new Set(projects.map(({ id }) => id));
  const named = new Set(items.flatMap(({ project }) => (project ? [project] : [])));
  const more = [...named].filter((id) => !known.has(id));
  const bare = { instructions: "", memory: "all", collections: [], created_at: "" } as const;
  return [...projects, ...more.map((id) => ({ id, name: id, ...bare }))];
}

/** The list in use: what is pinned, then projects, then the rest by day. */
export function listed(
  items: readonly Conversation[],
  projects: readonly Project[],
  open: ReadonlySet<string>,
  now: number,
): Row[] {
  const pinned = items.filter((item) => item.pinned);
  const rest = items.filter((item) => !item.pinned && !item.project);
  const shown = projectsOf(projects, items);
  return [
    ...(pinned.length
      ? [
          { kind: "heading", key: "pinned first", name: t("Pinned") } as const,
          ...pinned.map((item) => asRow(item)),
        ]
      : []),
    ...(shown.length ? [{ kind: "heading", key: "projects", name: t("Projects") } as const] : []),
    ...shown.flatMap((project): Row[] => {
      const isOpen = open.has(project.id);
      const inside = items.filter((item) => !item.pinned && item.project === project.id);
      return [
        { kind: "project", key: `project ${project.id}`, project, open: isOpen },
        ...(isOpen ? inside.map((item) => asRow(item, true)) : []),
      ];
    }),
    ...byDay(rest, now),
  ];
}
