// The pages near one page, drawn, and the same as a list.
import { FileText } from "lucide-react";
import { useCallback, useMemo, useState } from "react";
import { vaultApi } from "../../api/vault";
import { locale, t } from "../../i18n";
import { Graph } from "../../kit/graph/Graph";
import { GraphList } from "../../kit/graph/GraphList";
import { drawn } from "../../kit/graph/graphLayout";
import { Link, Notice, ProblemNotice, Segmented, Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { addressOfPage } from "../../services/router";
import { remember, remembered } from "../../services/store";
import { useRead } from "../../services/useRead";
import styles from "./Page.module.css";
import { PageHead } from "./PageHead";
import { netOf } from "./pageNet";
import vault from "./vault.module.css";

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
    <div className={vault.page}>
      <PageHead path={path}>
        <div className={styles.together}>
          <Segmented
            label={t("Links away")}
            value={depth}
            options={depths.map((value) => ({ value, label: value }))}
            onChange={(next) => choose({ depth: next })}
          />
          <Link
            to={addressOfPage(path)}
            className="icon-button"
            aria-label={t("Open the page")}
            title={t("Open the page")}
          >
            <FileText size={18} aria-hidden />
          </Link>
        </div>
      </PageHead>
      {problem && (
        <div className={vault.notices}>
          <ProblemNotice problem={problem} />
        </div>
      )}
      {!near && !problem && <Skeleton lines={6} label={t("Loading the links")} />}
      {drawing && drawing.spots.length > 0 && (
        <>
          {drawing.total > drawing.spots.length && (
            <div className={vault.notices}>
              <Notice>
                {t("{shown} of {total} pages are shown: the nearest ones.", {
                  shown: drawing.spots.length.toLocaleString(locale()),
                  total: drawing.total.toLocaleString(locale()),
                })}{" "}
                {depth === "1"
                  ? t("The others are in the page’s links.")
                  : t("Choose a smaller distance to see fewer pages.")}
              </Notice>
            </div>
          )}
          {drawing.spots.length === 1 && (
            <p className={vault.lead}>{t("This page has no links.")}</p>
          )}
          <Graph
            drawing={drawing}
            label={t("Pages near {page}", { page: drawing.spots[0]?.name })}
            noun={t("pages")}
            onOpen={(spot) => router.go(spot.address)}
          />
          <GraphList drawing={drawing} />
        </>
      )}
    </div>
  );
}
