// All pages and their links, drawn; narrowed to a folder, a tag, or the pages that nothing links with.
import { useMemo, useState } from "react";
import type { VaultGraph } from "../../api/types";
import { vaultApi } from "../../api/vault";
import { t } from "../../i18n";
import { Graph } from "../../kit/graph/Graph";
import { GraphList } from "../../kit/graph/GraphList";
import { drawn } from "../../kit/graph/graphLayout";
import { PageHead } from "../../kit/PageHead";
import { ProblemNotice, Skeleton } from "../../kit/pieces";
import { Select } from "../../kit/Select";
import { useApp } from "../../services/context";
import { useRead } from "../../services/useRead";
import { narrowed, netOf } from "./pageNet";
import { folderOf } from "./treeRows";
import vault from "./vault.module.css";

const ALL = "";
const ORPHANS = "orphans";

/** What the graph can be narrowed to: folders, tags, and what is linked with nothing. */
function choices(graph: VaultGraph) {
  const folders = new Set(graph.nodes.map(({ path }) => folderOf(path)).filter(Boolean));
  const tags = new Set(graph.nodes.flatMap((node) => node.tags));
  const sorted = (all: Set<string>) => [...all].sort((a, b) => a.localeCompare(b));
  return [
    {
      label: t("Pages"),
      options: [
        { value: ALL, label: t("All pages") },
        { value: ORPHANS, label: t("Without links") },
      ],
    },
    {
      label: t("Folders"),
      options: sorted(folders).map((name) => ({ value: `folder:${name}`, label: name })),
    },
    {
      label: t("Tags"),
      options: sorted(tags).map((name) => ({ value: `tag:${name}`, label: `#${name}` })),
    },
  ].filter(({ options }) => options.length > 0);
}

/** `news` is another value whenever pages changed. */
export function WholeGraph({ news }: { news: unknown }) {
  const { router } = useApp();
  const { value: graph, problem, read } = useRead(vaultApi.wholeGraph, news);
  const [only, setOnly] = useState(ALL);
  const drawing = useMemo(() => graph && drawn(netOf(narrowed(graph, only))), [graph, only]);
  return (
    <div className={vault.page}>
      <PageHead title={t("Graph of all pages")} isMain>
        {graph && (
          <Select label={t("Show")} value={only} options={choices(graph)} onChange={setOnly} />
        )}
      </PageHead>
      {problem && (
        <div className={vault.notices}>
          <ProblemNotice problem={problem} onRetry={() => void read()} />
        </div>
      )}
      {!graph && !problem && <Skeleton lines={6} label={t("Loading the links")} />}
      {drawing && drawing.spots.length === 0 && (
        <p className={vault.lead}>{t("No page is like this.")}</p>
      )}
      {drawing && drawing.spots.length > 0 && (
        <>
          <Graph
            drawing={drawing}
            label={t("All pages and their links")}
            noun={t("pages")}
            onOpen={(spot) => router.go(spot.address)}
          />
          <GraphList drawing={drawing} />
        </>
      )}
    </div>
  );
}
