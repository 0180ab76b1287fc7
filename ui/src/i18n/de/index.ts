// German, loaded only by those who read it.
const files = import.meta.glob<{ default: Record<string, string> }>("./*.json", { eager: true });

export const catalogue: Record<string, string> = Object.assign(
  {},
  ...Object.values(files).map((file) => file.default),
);
