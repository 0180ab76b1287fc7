// What hangs together with memories, as it is drawn. Pure.
import type { DocumentGraphShown } from "../../api/memory";
import type { Net, Shape } from "../../kit/graph/graphLayout";
import { addressOfThing } from "../../services/router";

const shapes: Record<string, Shape> = {
  fact: "circle",
  document: "square",
  passage: "square",
  page: "sheet",
  name: "diamond",
};
/** So many topics have a colour of their own. */
const TONES = 8;

export const isName = (id: string): boolean => id.startsWith("name:");

export function netOf(shown: DocumentGraphShown): Net {
  return {
    nodes: shown.nodes.map(({ id, kind, label, source, topic }) => ({
      id,
      name: label,
      // A name leads to what is found by it.
      address: (source && addressOfThing(source)) || "/memory/graph",
      shape: shapes[kind] ?? "circle",
      tone: topic !== null && topic < TONES ? topic : undefined,
      weight: kind === "name" ? 0.4 : 0,
    })),
    links: [
      ...new Map(
        shown.edges.map(({ a, b }) => [[a, b].sort().join("\n"), [a, b] as const]),
      ).values(),
    ],
  };
}
