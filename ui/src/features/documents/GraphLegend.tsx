import type { GraphShown } from "../../api/documents";
import { locale, t } from "../../i18n";
import { Legend, Sample } from "../../kit/graph/Legend";
import { Link } from "../../kit/pieces";
import { type AddressOf, idOfTopic, kindOf, TONES, toneOf } from "./graphNet";

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
      <Legend label={t("Kinds")}>
        {kinds.map((kind) => (
          <li key={kind}>
            <Sample shape={kindOf(kind).shape} />
            {kindOf(kind).word}
          </li>
        ))}
      </Legend>
      {topics.length > 0 && (
        <Legend label={t("Topics")}>
          {topics.map(({ number, label, passages }) => {
            const words = (
              <>
                <Sample shape="circle" tone={toneOf(number)} />
                {label} ({passages.toLocaleString(locale())})
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
        </Legend>
      )}
    </>
  );
}
