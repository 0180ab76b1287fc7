// Memories with the people, things, pages and documents that they hang together with, drawn and as a list.
import { Waypoints } from "lucide-react";
import { useMemo } from "react";
import { memoryApi } from "../../api/memory";
import { t } from "../../i18n";
import { Graph } from "../../kit/graph/Graph";
import { GraphList } from "../../kit/graph/GraphList";
import { drawn } from "../../kit/graph/graphLayout";
import { Legend, Sample } from "../../kit/graph/Legend";
import { PageHead } from "../../kit/PageHead";
import { Empty, ProblemNotice, Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { useNews } from "../../services/news";
import { useRead } from "../../services/useRead";
import styles from "./memory.module.css";
import { isName, netOf } from "./memoryNet";

const ask = (signal: AbortSignal) => memoryApi.graph(signal);

export function MemoryGraph({ onSearch }: { onSearch: (query: string) => void }) {
  const { router, memoryNews } = useApp();
  const { value, problem, read, look } = useRead(ask);
  useNews(memoryNews, look);
  const drawing = useMemo(() => value && drawn(netOf(value)), [value]);
  return (
    <>
      <PageHead title={t("Graph")} />
      {problem && (
        <div className={styles.notice}>
          <ProblemNotice problem={problem} onRetry={() => void read()} />
        </div>
      )}
      {!value && !problem && (
        <div className={styles.notice}>
          <Skeleton lines={6} label={t("Loading the graph")} />
        </div>
      )}
      {drawing && !drawing.spots.length && (
        <Empty icon={Waypoints} title={t("Nothing hangs together yet")}>
          <p>{t("Memories, names, pages and documents appear here as soon as there are some.")}</p>
        </Empty>
      )}
      {drawing && drawing.spots.length > 0 && (
        <>
          <Graph
            drawing={drawing}
            label={t("What memories hang together with")}
            noun={t("nodes")}
            onOpen={({ id, name, address }) => (isName(id) ? onSearch(name) : router.go(address))}
          />
          <Kinds />
          <GraphList drawing={drawing} />
        </>
      )}
    </>
  );
}

function Kinds() {
  const kinds = [
    { shape: "circle", name: t("Memory") },
    { shape: "diamond", name: t("Person or thing") },
    { shape: "sheet", name: t("Page") },
    { shape: "square", name: t("Document") },
  ] as const;
  return (
    <Legend label={t("Kinds")}>
      {kinds.map(({ shape, name }) => (
        <li key={shape}>
          <Sample shape={shape} />
          {name}
        </li>
      ))}
    </Legend>
  );
}
