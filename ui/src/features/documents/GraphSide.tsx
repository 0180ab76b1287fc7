import { ArrowUpRight, Route, X } from "lucide-react";
import { useCallback } from "react";
import { type GraphFocus, type GraphNode, type GraphShown, graphApi } from "../../api/documents";
import { locale, t } from "../../i18n";
import type { Spot } from "../../kit/graph/graphLayout";
import { Link, ProblemNotice, Skeleton } from "../../kit/pieces";
import { addressOfNode, addressOfThing, type GraphPlace } from "../../services/router";
import { useRead } from "../../services/useRead";
import styles from "./Graph.module.css";
import { type AddressOf, betweenOf, kindOf } from "./graphNet";

type SideProps = {
  place: GraphPlace;
  shown: GraphShown;
  focus: GraphFocus | null;
  spots: readonly Spot[];
  addressOf: AddressOf;
};

/** What the middle is and says, the way to it, and what is drawn, as a list. */
export function GraphSide({ place, shown, focus, spots, addressOf }: SideProps) {
  const { collection, node, from } = place;
  const [middle, ...others] = spots;
  const steps = [...new Set(others.map(({ distance }) => distance ?? 1))].sort((a, b) => a - b);
  return (
    <aside className={`${styles.side} scroll`} aria-label={t("What is in the middle")}>
      {focus ? (
        <Focused focus={focus} place={place} />
      ) : (
        <>
          <h2>{middle?.name}</h2>
          <p>
            {t("{count, plural, one {# node} other {# nodes}}", { count: shown.nodes.length })}
            {shown.left > 0 &&
              `; ${t("{count} older ones are found by a search", { count: shown.left.toLocaleString(locale()) })}`}
          </p>
        </>
      )}
      {node && (
        <p>
          <Link to={addressOfNode({ collection, from })}>{t("Show all")}</Link>
        </p>
      )}
      {from && (
        <section aria-label={t("The way")}>
          <h3>
            <Route size={13} aria-hidden /> {t("The way")}{" "}
            <Link to={addressOfNode({ collection, node })}>
              <X size={13} aria-hidden /> {t("Leave it")}
            </Link>
          </h3>
          {focus && from !== focus.node.id ? (
            <Way collection={collection} start={from} end={focus.node.id} addressOf={addressOf} />
          ) : (
            <p>{t("Choose in the drawing, in the list or by a search where it leads.")}</p>
          )}
        </section>
      )}
      {steps.map((distance) => (
        <section
          key={distance}
          aria-label={t("{count} away", {
            count: t("{count, plural, one {# step} other {# steps}}", { count: distance }),
          })}
        >
          <h3>
            {distance === 1
              ? t("Beside it")
              : t("{count} away", {
                  count: t("{count, plural, one {# step} other {# steps}}", { count: distance }),
                })}
          </h3>
          <ul>
            {others
              .filter((spot) => spot.distance === distance)
              .map((spot) => (
                <SpotRow key={spot.id} spot={spot} shown={shown} middle={middle?.id ?? ""} />
              ))}
          </ul>
        </section>
      ))}
    </aside>
  );
}

function SpotRow({ spot, shown, middle }: { spot: Spot; shown: GraphShown; middle: string }) {
  const node = shown.nodes.find(({ id }) => id === spot.id);
  const whole = shown.nodes.find(({ id }) => id === `document:${node?.document}`);
  const kind = node ? kindOf(node.kind).word : t("Topic");
  const words = [
    whole && whole.id !== middle ? t("{kind} of {label}", { kind, label: whole.label }) : kind,
    betweenOf(shown, middle, spot.id),
  ];
  return (
    <li>
      <Link to={spot.address}>
        {spot.name}
        <small>{words.filter(Boolean).join(": ")}</small>
      </Link>
    </li>
  );
}

const openWords: Record<string, string> = {
  document: t("Open the document"),
  passage: t("Open at this passage"),
  fact: t("Open in memory"),
  page: t("Open the page"),
};

function Focused({ focus, place }: { focus: GraphFocus; place: GraphPlace }) {
  const { node, text } = focus;
  const address = node.source && addressOfThing(node.source);
  const begin = { collection: place.collection, node: node.id, from: node.id };
  return (
    <>
      <h2>{node.label}</h2>
      <p>
        {kindOf(node.kind).word}
        {node.page !== null && `, page ${node.page.toLocaleString(locale())}`}
      </p>
      {text && (
        <section
          className={styles.said}
          aria-label={t("What it says")}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a long text is scrolled with the keyboard
          tabIndex={0}
        >
          {text}
        </section>
      )}
      <div className="actions">
        {address && (
          <Link className="button" to={address}>
            <ArrowUpRight size={16} aria-hidden /> {openWords[node.kind] ?? t("Open")}
          </Link>
        )}
        {!place.from && (
          <Link className="button" to={addressOfNode(begin)}>
            <Route size={16} aria-hidden /> {t("A way from here")}
          </Link>
        )}
      </div>
    </>
  );
}

type WayProps = { collection: string | null; start: string; end: string; addressOf: AddressOf };

function Way({ collection, start, end, addressOf }: WayProps) {
  const ask = useCallback(
    (signal: AbortSignal) => graphApi.path({ collection, start, end }, signal),
    [collection, start, end],
  );
  const { value, problem } = useRead(ask);
  if (problem) return <ProblemNotice problem={problem} />;
  if (!value) return <Skeleton lines={3} label={t("Looking for a way")} />;
  if (!value.nodes.length) return <p>{t("They do not hang together.")}</p>;
  return (
    <ol>
      {value.nodes.map((node: GraphNode) => (
        <li key={node.id}>
          <Link to={addressOf(node.id)} aria-current={node.id === end ? "true" : undefined}>
            {node.label}
            <small>{kindOf(node.kind).word}</small>
          </Link>
        </li>
      ))}
    </ol>
  );
}
