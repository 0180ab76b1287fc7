import type { GraphShown } from "../../api/documents";
import { locale, t } from "../../i18n";
import type { NetNode } from "../../kit/graph/graphLayout";
import { Shape } from "../../kit/graph/Shape";
import { Link } from "../../kit/pieces";
import { type AddressOf, idOfTopic, kindOf, TONES, toneOf } from "./graphNet";

function Sample({ shape, tone }: Pick<NetNode, "shape" | "tone">) {
  return (
    <svg
      viewBox="-8 -8 16 16"
      className={tone === undefined ? undefined : `tone-${tone}`}
      aria-hidden
    >
      <Shape shape={shape} radius={6} />
    </svg>
  );
}

type LegendProps = {
  shown: GraphShown;
  /** Topics of all of it are nodes; those of a part are not. */
  addressOf: AddressOf | null;
};

/** What shapes and colours mean. */
export function GraphLegend({ shown, addressOf }: LegendProps) {
  const kinds = [...new Set(shown.nodes.map(({ kind }) => kind))].sort();
  const topics = shown.topics.slice(0, TONES);
  const more = shown.topics.length - topics.length;
  return (
    <>
      <ul className="graph-legend" aria-label={t("Kinds")}>
        {kinds.map((kind) => (
          <li key={kind}>
            <Sample shape={kindOf(kind).shape} tone={undefined} />
            {kindOf(kind).word}
          </li>
        ))}
      </ul>
      {topics.length > 0 && (
        <ul className="graph-legend" aria-label={t("Topics")}>
          {topics.map(({ number, label, passages }) => {
            const words = (
              <>
                <Sample shape="circle" tone={toneOf(number)} />
                {label} ({passages.toLocaleString()})
              </>
            );
            return (
              <li key={number}>
                {addressOf ? <Link to={addressOf(idOfTopic(number))}>{words}</Link> : words}
              </li>
            );
          })}
          {more > 0 && (
            <li>
              {t("{count} smaller ones without a colour", { count: more.toLocaleString(locale()) })}
            </li>
          )}
        </ul>
      )}
    </>
  );
}
