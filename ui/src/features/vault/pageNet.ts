// The pages of the vault and their links, as they are drawn. Pure.
import type { VaultGraph } from "../../api/types";
import type { Net, NetNode } from "../../kit/graph/graphLayout";
import { addressOfPage } from "../../services/router";
import { titleOf } from "./treeRows";
import { pathFor } from "./wikilinks";

/** The id of what is not made: whatever its links' capitals are. */
const lostId = (target: string) => `? ${target.toLowerCase().replace(/\.md$/, "")}`;

/** The part of a graph that is of a folder (`folder:…`) or a tag (`tag:…`), or linked with nothing (`orphans`); "" is all. */
export function narrowed(graph: VaultGraph, only: string): VaultGraph {
  if (!only) return graph;
  const [kind, name] = [only.slice(0, only.indexOf(":")), only.slice(only.indexOf(":") + 1)];
  const orphans = new Set(graph.orphans);
  const isShown = ({ path, tags }: VaultGraph["nodes"][number]) => {
    if (kind === "folder") return path.startsWith(`${name}/`);
    if (kind === "tag") return tags.includes(name);
    return orphans.has(path);
  };
  const nodes = graph.nodes.filter(isShown);
  const shown = new Set(nodes.map(({ path }) => path));
  return {
    ...graph,
    nodes,
    edges: graph.edges.filter(({ source, target }) => shown.has(source) && shown.has(target)),
    missing: kind ? graph.missing.filter(({ source }) => shown.has(source)) : [],
  };
}

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
