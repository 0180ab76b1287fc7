// German, loaded only by those who read it. What the server says stands in `server-*.json` and `setting-words.json`.
const files = import.meta.glob<{ default: Record<string, string> }>("./*.json", { eager: true });

const of = (found: [string, { default: Record<string, string> }][]): Record<string, string> =>
  Object.assign({}, ...found.map(([, file]) => file.default));

export const catalogue: Record<string, string> = of(Object.entries(files));

export const server: readonly string[] = Object.keys(
  of(Object.entries(files).filter(([name]) => name.startsWith("./server-"))),
);
