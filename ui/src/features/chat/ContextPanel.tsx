import { citedFirst } from "../../answer/parts";
import type { Spent } from "../../run/reduce";
import type { Session } from "../../run/session";
import { useStore } from "../../services/store";
import { count, duration, money } from "../../services/words";
import { ChangeLine, RecalledLine } from "./MemoryLines";

function Figures({
  usage,
  tookMs,
  model,
}: {
  usage: readonly Spent[];
  tookMs: number | null;
  model: string | null;
}) {
  const sum = (of: (each: Spent) => number) => usage.reduce((total, each) => total + of(each), 0);
  const cost = sum((each) => each.cost_usd ?? 0);
  const priced = usage.some((each) => each.cost_usd != null);
  const about = usage.some((each) => each.estimated) ? "about " : "";
  const rows: [string, string | null][] = [
    ["Time", tookMs === null ? null : duration(tookMs)],
    [
      "Input",
      usage.length
        ? `${about}${count(
            sum((each) => each.input_tokens),
            "token",
          )}`
        : null,
    ],
    [
      "Output",
      usage.length
        ? `${about}${count(
            sum((each) => each.output_tokens),
            "token",
          )}`
        : null,
    ],
    ["Cost", priced ? money(cost) : null],
    ["Model", model ?? usage.find((each) => each.model)?.model ?? null],
  ];
  return (
    <dl className="figures">
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
  const took = run?.startedAt && run.endedAt ? run.endedAt - run.startedAt : null;
  return (
    <aside className="panel scroll" aria-label="This answer">
      <section>
        <h2>Used memories</h2>
        {run?.recalled.length ? (
          <ul className="memory-lines">
            {citedFirst(run).map(({ item, number }) => (
              <RecalledLine key={`${item.kind} ${item.id}`} item={item} number={number} />
            ))}
          </ul>
        ) : (
          <p>{run ? "No memories used." : "Memories that an answer uses are listed here."}</p>
        )}
      </section>
      <section>
        <h2>Changes to memory</h2>
        {run?.changed.length ? (
          <ul className="memory-lines">
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
              ? "No changes."
              : "Memories added or corrected are listed here, each with an undo button."}
          </p>
        )}
      </section>
      <section>
        <h2>Time and cost</h2>
        {run && (took !== null || run.usage.length > 0 || run.model) ? (
          <Figures usage={run.usage} tookMs={took} model={run.model} />
        ) : (
          <p>{view.running ? "Working…" : "Time, tokens and cost."}</p>
        )}
      </section>
    </aside>
  );
}
