import type { Memory, MemoryDoubt } from "../../api/types";
import { shortDate } from "../../services/words";

/** The categories that the agent is taught; others are possible and shown as they are. */
export const categories: Record<string, string> = {
  preferences: "Preferences",
  personal_info: "About you",
  goals: "Goals",
  plans: "Plans",
  context: "Context",
  general: "General",
};

export const categoryName = (category: string): string =>
  categories[category] ?? category.replaceAll("_", " ");

export const states = [
  { value: "active", label: "Current" },
  { value: "superseded", label: "Replaced" },
  { value: "merged", label: "Merged into another" },
  { value: "retracted", label: "Retracted" },
] as const;

/** What a memory's state means, in a word or two. */
export const stateName = (state: Memory["state"]): string =>
  state === "suggested"
    ? "Waiting for your review"
    : (states.find(({ value }) => value === state)?.label ?? state);

/** When it was true, as far as that is known: "since 3 May 2024", "until 2019". */
export function validity({ valid_from: from, valid_until: until }: Memory): string {
  const [low, high] = [from, until].map((time) => time && shortDate(Date.parse(time)));
  if (low && high) return `from ${low} until ${high}`;
  if (low) return `since ${low}`;
  return high ? `until ${high}` : "";
}

const doubts: Record<MemoryDoubt["kind"], string> = {
  contradicts: "Contradicted by another memory",
  depends: "Based on something that has changed",
  unclear: "May no longer be true",
};
export const doubtName = (kind: MemoryDoubt["kind"]): string => doubts[kind];
