import type { MemorySource } from "../../api/types";

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

const sources: Record<string, string> = {
  conversation: "from a conversation",
  message: "from a conversation",
  tool: "stored by the agent",
  import: "imported",
  person: "from people",
  user: "written by you",
  owner: "written by you",
};

export const sourceName = (source: MemorySource): string =>
  sources[source.kind] ?? `from ${source.kind}`;

export const states = [
  { value: "active", label: "True now" },
  { value: "superseded", label: "Corrected since" },
  { value: "retracted", label: "Retracted" },
] as const;
