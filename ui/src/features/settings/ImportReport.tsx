import type { ImportShown, ImportReport as Report } from "../../api/types";
import { count, shortDate } from "../../services/words";
import { linesOf, WORKING } from "./importWords";

type ReportProps = { report: Report; state: ImportShown["state"] };

const DAY_MS = 86_400_000;

function span(first: number, last: number): string {
  if (last - first < DAY_MS) return `From ${shortDate(last)}`;
  return `From ${shortDate(first)} to ${shortDate(last)}`;
}

/** What an export holds, or what became of it. */
export function ImportReport({ report, state }: ReportProps) {
  const lines = linesOf(report, state);
  const faults = report.problems.filter(({ fault }) => fault);
  const others = report.problems.filter(({ fault }) => !fault);
  const { first, last } = report;
  return (
    <div className="import-report">
      {first && last && <p className="note">{span(Date.parse(first), Date.parse(last))}</p>}
      {lines.length > 0 && (
        <ul className="lines">
          {lines.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      )}
      {lines.length === 0 && !WORKING.includes(state) && (
        <p className="note">It contains nothing that can be imported.</p>
      )}
      {report.note && <p className="note">{report.note}</p>}
      {report.topics.length > 0 && (
        <details>
          <summary>Topics</summary>
          <ul className="topics">
            {report.topics.map((topic) => (
              <li key={topic.name}>
                {topic.name} <span className="note">{topic.count.toLocaleString()}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
      <Problems label={count(faults.length, "problem")} problems={faults} />
      <Problems label="Skipped" problems={others} />
    </div>
  );
}

function Problems({ label, problems }: { label: string; problems: Report["problems"] }) {
  if (!problems.length) return null;
  return (
    <details>
      <summary>{label}</summary>
      <ul className="problems">
        {problems.map(({ name, why, count: times }) => (
          <li key={`${name} ${why}`}>
            <strong>{name}</strong>
            {times > 1 && ` (${times.toLocaleString()})`}: {why}
          </li>
        ))}
      </ul>
    </details>
  );
}
