// The pages of the vault and their links, as they are drawn. Pure.
import type { VaultGraph } from "../../api/types";
import type { Net, NetNode } from "../../kit/graph/graphLayout";
import { addressOfPage } from "../../services/router";
import { titleOf } from "./treeRows";
import { pathFor } from "./wikilinks";

/** The id of what is not made: whatever its links' capitals are. */
const lostId = (target: string) => `? ${target.toLowerCase().replace(/\.md$/, "")}`;

export function netOf(graph: VaultGraph): Net {
  const nodes = new Map<string, NetNode>();
  for (const { path, title } of graph.nodes) {
    nodes.set(path, { id: path, name: title || titleOf(path), address: addressOfPage(path) });
  }
  const links = graph.edges.map(({ source, target }) => [source, target] as const);
  for (const { source, target } of graph.missing) {
    const id = lostId(target);
    const address = addressOfPage(pathFor(target));
    if (!nodes.has(id)) nodes.set(id, { id, name: titleOf(target), address, isMissing: true });
    links.push([source, id]);
  }
  return { nodes: [...nodes.values()], links };
}
