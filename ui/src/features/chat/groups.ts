import type { Conversation } from "../../api/types";
import { dayGroup } from "../../services/words";

export type Group = { name: string; items: readonly Conversation[] };

/** Conversations under the day, week or month that they were last used in; the order is kept. */
export function grouped(items: readonly Conversation[], now: number): Group[] {
  const groups = new Map<string, Conversation[]>();
  for (const item of items) {
    const name = dayGroup(Date.parse(item.updated_at), now);
    groups.set(name, [...(groups.get(name) ?? []), item]);
  }
  return [...groups].map(([name, inside]) => ({ name, items: inside }));
}
