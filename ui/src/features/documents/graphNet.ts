// What the server tells of the graph, as it is drawn and listed. Pure.
import type { GraphNode, GraphShown } from "../../api/documents";
import { t } from "../../i18n";
import type { Net, NetNode, Shape } from "../../kit/graph/graphLayout";

/** So many topics have a colour of their own: more nobody tells apart. */
export const TONES = 8;
/** The node that stands for all of it. */
export const ALL = "all";
const TOPIC = "topic:";
const NO_TOPIC = `${TOPIC}none`;

type Kind = { word: string; many: string; shape: Shape };
const kinds: Record<string, Kind> = {
  document: { word: t("Document"), many: t("Documents"), shape: "square" },
  passage: { word: t("Passage"), many: t("Passages"), shape: "circle" },
  fact: { word: t("Memory"), many: t("Memories"), shape: "triangle" },
  page: { word: t("Page of the vault"), many: t("Pages of the vault"), shape: "sheet" },
  name: { word: t("Name"), many: t("Names"), shape: "diamond" },
};
const unknown: Kind = { word: t("Other"), many: t("Others"), shape: "circle" };

export const kindOf = (kind: string): Kind => kinds[kind] ?? unknown;
export const idOfTopic = (number: number): string => `${TOPIC}${number}`;
export const isTopic = (id: string | null): id is string => id?.startsWith(TOPIC) ?? false;

/** The colour of a topic; none for those behind the first few. */
export const toneOf = (topic: number | null): number | undefined =>
  topic !== null && topic < TONES ? topic : undefined;

/** The address at which a node stands in the middle; null for all of it. */
export type AddressOf = (node: string | null) => string;

const spotOf = (node: GraphNode, addressOf: AddressOf): NetNode => ({
  id: node.id,
  name: node.label,
  address: addressOf(node.id),
  shape: kindOf(node.kind).shape,
  tone: toneOf(node.topic),
});

/** Pairs of nodes, each once: two may hang together in more than one way. */
const linksOf = ({ edges }: GraphShown) => [
  ...new Map(edges.map(({ a, b }) => [`${a}\n${b}`, [a, b] as const])).values(),
];

/** A node and what is right beside it. */
export const netOf = (shown: GraphShown, addressOf: AddressOf): Net => ({
  nodes: shown.nodes.map((node) => spotOf(node, addressOf)),
  links: linksOf(shown),
});

/** All of it: topics around the middle, what they hold around these, and what hangs together across them. */
export function netOfAll(shown: GraphShown, addressOf: AddressOf, name: string): Net {
  const wholes = new Set(shown.edges.filter(({ kind }) => kind === "holds").map(({ a }) => a));
  const items = shown.nodes.filter(({ id, kind }) => kind !== "name" && !wholes.has(id));
  const groups: [id: string, name: string, tone: number | undefined][] = shown.topics.map(
    ({ number, label }) => [idOfTopic(number), label, toneOf(number)],
  );
  if (items.some(({ topic }) => topic === null)) groups.push([NO_TOPIC, t("No topic"), undefined]);
  const nodes: NetNode[] = [
    { id: ALL, name, address: addressOf(null) },
    ...groups.map(([id, label, tone]) => ({ id, name: label, address: addressOf(id), tone })),
    ...shown.nodes.map((node) => spotOf(node, addressOf)),
  ];
  return {
    nodes,
    links: [
      ...groups.map(([id]) => [ALL, id] as const),
      ...items.map(({ id, topic }) => [topic === null ? NO_TOPIC : idOfTopic(topic), id] as const),
      ...linksOf(shown),
    ],
  };
}

/** What one node is to another: the words for whom an edge leads to, and for whom it comes from. */
const words: Record<string, [to: string, from: string]> = {
  alike: [t("says something alike"), t("says something alike")],
  names: [t("has this name"), t("named here")],
  next: [t("follows it"), t("stands before it")],
  holds: [t("stands in it"), t("holds it")],
  links: [t("linked from it"), t("links to it")],
};

/** How a node hangs together with the middle, in words; nothing for one that does not. */
export function betweenOf({ edges }: GraphShown, middle: string, other: string): string {
  const found = edges.flatMap(({ a, b, kind }) => {
    const [to = kind, from = kind] = words[kind] ?? [];
    if (a === middle && b === other) return [to];
    return a === other && b === middle ? [from] : [];
  });
  return found.join(", ");
}
