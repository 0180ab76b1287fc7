import type { ImportShown, ImportReport as Report } from "../../api/types";
import { locale, t, told } from "../../i18n";
import { shortDate } from "../../services/words";
import styles from "./Import.module.css";
import { isEmpty, linesOf, WORKING } from "./importWords";

type ReportProps = { report: Report; state: ImportShown["state"] };

const DAY_MS = 86_400_000;

function span(first: number, last: number): string {
  if (last - first < DAY_MS) return t("From {time}", { time: shortDate(last) });
  return t("From {first} to {last}", { first: shortDate(first), last: shortDate(last) });
}

/** What an export holds, or what became of it. */
export function ImportReport({ report, state }: ReportProps) {
  const lines = linesOf(report, state);
  const faults = report.problems.filter(({ fault }) => fault);
  const others = report.problems.filter(({ fault }) => !fault);
  const { first, last } = report;
  return (
    <div className={styles.report}>
      {first && last && <p className={styles.note}>{span(Date.parse(first), Date.parse(last))}</p>}
      {lines.length > 0 && (
        <ul className={styles.lines}>
          {lines.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      )}
      {(lines.length === 0 || isEmpty(report)) && !WORKING.includes(state) && (
        <p className={styles.note}>{t("It contains nothing that can be imported.")}</p>
      )}
      {report.note && <p className={styles.note}>{told(report.note)}</p>}
      {report.topics.length > 0 && (
        <details>
          <summary>{t("Topics")}</summary>
          <ul className={styles.topics}>
            {report.topics.map((topic) => (
              <li key={topic.name}>
                {topic.name}{" "}
                <span className={styles.note}>{topic.count.toLocaleString(locale())}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
      <Problems
        label={t("{count, plural, one {# problem} other {# problems}}", { count: faults.length })}
        problems={faults}
      />
      <Problems label={t("Skipped")} problems={others} />
    </div>
  );
}

function Problems({ label, problems }: { label: string; problems: Report["problems"] }) {
  if (!problems.length) return null;
  return (
    <details>
      <summary>{label}</summary>
      <ul className={styles.problems}>
        {problems.map(({ name, why, count: times }) => (
          <li key={`${name} ${why}`}>
            <strong>{name}</strong>
            {times > 1 && ` (${times.toLocaleString(locale())})`}: {why}
          </li>
        ))}
      </ul>
    </details>
  );
}
