// The pages near one page, drawn, and the same as a list.
import { FileText } from "lucide-react";
import { useCallback, useMemo, useState } from "react";
import { vaultApi } from "../../api/vault";
import { Graph } from "../../kit/graph/Graph";
import { GraphList } from "../../kit/graph/GraphList";
import { drawn } from "../../kit/graph/graphLayout";
import "../../styles/graph.css";
import { Link, Notice, ProblemNotice, Segmented, Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { addressOfPage } from "../../services/router";
import { remember, remembered } from "../../services/store";
import { useRead } from "../../services/useRead";
import { count } from "../../services/words";
import { PageHead } from "./PageHead";
import { netOf } from "./pageNet";

const KEY = "bethink.vault.graph";
const depths = ["1", "2", "3"] as const;
type Depth = (typeof depths)[number];

/** `news` is another value whenever pages changed. */
export function GraphPage({ path, news }: { path: string; news: unknown }) {
  const { router } = useApp();
  const [look, setLook] = useState(() => remembered(KEY, { depth: "1" as Depth }));
  const { depth } = look;
  const ask = useCallback(
    async (signal: AbortSignal) => ({
      graph: await vaultApi.graph(path, Number(depth), signal),
      depth: Number(depth),
    }),
    [path, depth],
  );
  // What was there before stays until the newer is.
  const { value: near, problem } = useRead(ask, news);
  const drawing = useMemo(() => near && drawn(netOf(near.graph), path, near.depth), [near, path]);
  const choose = (patch: Partial<typeof look>) => {
    const next = { ...look, ...patch };
    setLook(next);
    remember(KEY, next);
  };
  return (
    <div className="vault-page">
      <PageHead path={path}>
        <div className="graph-tools">
          <Segmented
            label="Links away"
            value={depth}
            options={depths.map((value) => ({ value, label: value }))}
            onChange={(next) => choose({ depth: next })}
          />
          <Link
            to={addressOfPage(path)}
            className="icon-button"
            aria-label="Open the page"
            title="Open the page"
          >
            <FileText size={18} aria-hidden />
          </Link>
        </div>
      </PageHead>
      {problem && (
        <div className="vault-notices">
          <ProblemNotice problem={problem} />
        </div>
      )}
      {!near && !problem && <Skeleton lines={6} label="Loading the links" />}
      {drawing && drawing.spots.length > 0 && (
        <>
          {drawing.total > drawing.spots.length && (
            <div className="vault-notices">
              <Notice>
                {drawing.spots.length.toLocaleString()} of {count(drawing.total, "page")} are shown:
                the nearest ones.{" "}
                {depth === "1"
                  ? "The others are in the page’s links."
                  : "Choose a smaller distance to see fewer pages."}
              </Notice>
            </div>
          )}
          {drawing.spots.length === 1 && <p className="graph-note">This page has no links.</p>}
          <Graph
            drawing={drawing}
            label={`Pages near ${drawing.spots[0]?.name}`}
            noun="pages"
            onOpen={(spot) => router.go(spot.address)}
          />
          <GraphList drawing={drawing} />
        </>
      )}
    </div>
  );
}
