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
  { value: "active", label: "True now" },
  { value: "superseded", label: "Corrected since" },
  { value: "retracted", label: "Retracted" },
] as const;
