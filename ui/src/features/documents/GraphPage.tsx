// What hangs together: all of it by topics, or what is beside one node; drawn, and the same as a list.
import { Waypoints } from "lucide-react";
import { useCallback, useMemo, useState } from "react";
import type { Problem } from "../../api/client";
import { type GraphFocus, type GraphShown, graphApi } from "../../api/documents";
import { locale, t } from "../../i18n";
import { Graph } from "../../kit/graph/Graph";
import { drawn } from "../../kit/graph/graphLayout";
import { PageHead } from "../../kit/PageHead";
import { Empty, Link, Notice, ProblemNotice, Segmented, Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { useNews } from "../../services/news";
import { addressOfNode, addressOfSettings, type GraphPlace } from "../../services/router";
import { remember, remembered } from "../../services/store";
import { useRead } from "../../services/useRead";
import { Frame } from "./Frame";
import styles from "./Graph.module.css";
import { GraphFinder } from "./GraphFinder";
import { GraphLegend } from "./GraphLegend";
import { GraphSide } from "./GraphSide";
import { ALL, isTopic, netOf, netOfAll } from "./graphNet";
import { useCollections } from "./useCollections";

const KEY = "bethink.documents.graph";
const depths = ["1", "2", "3"] as const;
type Depth = (typeof depths)[number];
type Look = { all?: Depth; near?: Depth };
/** More nodes than these are shown by their topics at first. */
const FEW = 60;

/** The view, and the node in its middle if it is one of the graph's own. */
type Read = { shown: GraphShown; focus: GraphFocus | null };

async function read(collection: string | null, node: string | null, signal: AbortSignal) {
  if (!node || isTopic(node)) {
    return { shown: await graphApi.view({ collection }, signal), focus: null };
  }
  const focus = await graphApi.focus({ collection, node }, signal);
  return { shown: focus, focus };
}

export function GraphPage({ place }: { place: GraphPlace }) {
  const { collection, node } = place;
  const { documentNews } = useApp();
  const library = useCollections();
  // All topics come with all of it.
  const asked = isTopic(node) ? null : node;
  const ask = useCallback(
    (signal: AbortSignal): Promise<Read> => read(collection, asked, signal),
    [collection, asked],
  );
  const { value, problem, read: again, look } = useRead(ask);
  useNews(documentNews, look);
  const name = library.collections.find(({ id }) => id === collection)?.name ?? t("Everything");
  return (
    <Frame library={library} view="graph">
      <div className={styles.view}>
        {problem && !value && <NoGraph problem={problem} onRetry={() => void again()} />}
        {problem && value && <ProblemNotice problem={problem} onRetry={() => void again()} />}
        {!value && !problem && <Skeleton lines={6} label={t("Loading the graph")} />}
        {value && <Shown place={place} name={name} {...value} />}
      </div>
    </Frame>
  );
}

/** Why there is none: mostly since nobody has switched it on. */
function NoGraph({ problem, onRetry }: { problem: Problem; onRetry: () => void }) {
  if (problem.status !== 403) {
    return (
      <>
        <PageHead title={t("Graph")} />
        <ProblemNotice problem={problem} onRetry={onRetry} />
        <p className={styles.note}>
          <Link to={addressOfNode()}>{t("Show all of the graph")}</Link>
        </p>
      </>
    );
  }
  return (
    <>
      <PageHead title={t("Graph")} />
      <Empty icon={Waypoints} title={t("No graph is shown")}>
        <p>
          {t(
            "It shows how documents, memories and pages of the vault hang together: what is alike, names the same, or leads from one to another, and the topics that they make. It is made of what is searched, so that nothing has to be built.",
          )}
        </p>
        <Link className="button" to={addressOfSettings("memory", "graph_enabled")}>
          {t("Switch it on in Settings")}
        </Link>
      </Empty>
    </>
  );
}

type ShownProps = Read & { place: GraphPlace; name: string };

function Shown({ place, name, shown, focus }: ShownProps) {
  const { router } = useApp();
  const { collection, node, from } = place;
  const [kept, setKept] = useState(() => remembered<Look>(KEY, {}));
  const which = node && !isTopic(node) ? "near" : "all";
  const usual = which === "near" || shown.nodes.length <= FEW ? "2" : "1";
  const depth = isTopic(node) ? "1" : (kept[which] ?? usual);
  const addressOf = useCallback(
    (id: string | null) => addressOfNode({ collection, node: id, from }),
    [collection, from],
  );
  const middle = focus?.node.id ?? node ?? ALL;
  const drawing = useMemo(() => {
    const net = focus ? netOf(shown, addressOf) : netOfAll(shown, addressOf, name);
    // A topic may have gone since its address was written down.
    const here = net.nodes.some(({ id }) => id === middle) ? middle : ALL;
    return drawn(net, here, Number(depth));
  }, [shown, focus, middle, depth, addressOf, name]);
  const choose = (patch: Partial<Look>) => {
    const next = { ...kept, ...patch };
    setKept(next);
    remember(KEY, next);
  };
  const [centre] = drawing.spots;
  const title = focus?.node.label ?? centre?.name ?? name;
  return (
    <>
      <PageHead title={t("Graph")}>
        <GraphFinder shown={shown} collection={collection} addressOf={addressOf} />
        {!isTopic(node) && (
          <Segmented
            label={t("Steps away")}
            value={depth}
            options={depths.map((value) => ({ value, label: value }))}
            onChange={(next) => choose({ [which]: next })}
          />
        )}
      </PageHead>
      {drawing.total > drawing.spots.length && (
        <Notice>
          {t(
            "{shown} of {count, plural, one {# node} other {# nodes}} are drawn: the nearest ones.",
            {
              shown: drawing.spots.length.toLocaleString(locale()),
              count: drawing.total,
            },
          )}
        </Notice>
      )}
      {shown.nodes.length ? (
        <div className={styles.body}>
          <div className={styles.canvas}>
            {drawing.spots.length > 0 && (
              <Graph
                drawing={drawing}
                label={t("What hangs together with {title}", { title })}
                noun="nodes"
                onOpen={(spot) => router.go(spot.address)}
              />
            )}
            <GraphLegend shown={shown} addressOf={focus ? null : addressOf} />
          </div>
          <GraphSide
            key={middle}
            place={place}
            shown={shown}
            focus={focus}
            spots={drawing.spots}
            addressOf={addressOf}
          />
        </div>
      ) : (
        <Empty icon={Waypoints} title={t("Nothing to show yet")}>
          <p>
            {t("Documents, memories and pages of the vault appear here as soon as there are any.")}
          </p>
        </Empty>
      )}
    </>
  );
}
