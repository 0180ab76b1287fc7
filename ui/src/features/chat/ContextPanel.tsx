import { citedFirst } from "../../answer/parts";
import { t } from "../../i18n";
import { type Spent, tookMs } from "../../run/reduce";
import type { Session } from "../../run/session";
import { useStore } from "../../services/store";
import { duration, money } from "../../services/words";
import styles from "./ContextPanel.module.css";
import chat from "./chat.module.css";
import { ChangeLine, RecalledLine } from "./MemoryLines";
import lines from "./MemoryLines.module.css";

function Figures({
  usage,
  took,
  model,
}: {
  usage: readonly Spent[];
  took: number | null;
  model: string | null;
}) {
  const sum = (of: (each: Spent) => number) => usage.reduce((total, each) => total + of(each), 0);
  const cost = sum((each) => each.cost_usd ?? 0);
  const priced = usage.some((each) => each.cost_usd != null);
  const isEstimated = usage.some((each) => each.estimated);
  const tokens = (count: number) =>
    isEstimated
      ? t("{count, plural, one {about # token} other {about # tokens}}", { count })
      : t("{count, plural, one {# token} other {# tokens}}", { count });
  const rows: [string, string | null][] = [
    [t("Time"), took === null ? null : duration(took)],
    [t("Input"), usage.length ? tokens(sum((each) => each.input_tokens)) : null],
    [t("Output"), usage.length ? tokens(sum((each) => each.output_tokens)) : null],
    [t("Cost"), priced ? money(cost) : null],
    [t("Model"), model ?? usage.find((each) => each.model)?.model ?? null],
  ];
  return (
    <dl className={chat.figures}>
      {rows.map(
        ([name, value]) =>
          value && (
            <div key={name}>
              <dt>{name}</dt>
              <dd className="clip">{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

/** What the latest answer used, changed and cost. */
export function ContextPanel({ session }: { session: Session }) {
  const view = useStore(session.store);
  const run = view.turns.at(-1)?.run;
  const took = run ? tookMs(run) : null;
  return (
    <aside className={`${styles.panel} scroll print-hidden`} aria-label={t("This answer")}>
      <section>
        <h2>{t("Used memories")}</h2>
        {run?.recalled.length ? (
          <ul className={lines.lines}>
            {citedFirst(run).map(({ item, number }) => (
              <RecalledLine key={`${item.kind} ${item.id}`} item={item} number={number} />
            ))}
          </ul>
        ) : (
          <p>{run ? t("No memories used.") : t("Memories that an answer uses are listed here.")}</p>
        )}
      </section>
      <section>
        <h2>{t("Changes to memory")}</h2>
        {run?.changed.length ? (
          <ul className={lines.lines}>
            {run.changed.map((change, i) => (
              <ChangeLine
                // biome-ignore lint/suspicious/noArrayIndexKey: changes are only added, maybe of one memory
                key={i}
                change={change}
                undone={view.undone}
                session={session}
              />
            ))}
          </ul>
        ) : (
          <p>
            {run
              ? t("No changes.")
              : t("Memories added or corrected are listed here, each with an undo button.")}
          </p>
        )}
      </section>
      <section>
        <h2>{t("Time and cost")}</h2>
        {run && (took !== null || run.usage.length > 0 || run.model) ? (
          <Figures usage={run.usage} took={took} model={run.model} />
        ) : (
          <p>{view.running ? t("Working…") : t("Time, tokens and cost.")}</p>
        )}
      </section>
    </aside>
  );
}
