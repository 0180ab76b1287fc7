// Which Bethink this is, how its parts are, and what was changed in its settings.
import { Copy } from "lucide-react";
import { useCopy } from "../../answer/useCopy";
import { unreachable } from "../../api/client";
import { settingsApi } from "../../api/settings";
import type { PartHealth } from "../../api/types";
import { locale, t, told } from "../../i18n";
import { Button } from "../../kit/Button";
import { ProblemNotice, Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";
import { useRead } from "../../services/useRead";
import { Parts } from "./Parts";
import styles from "./Room.module.css";
import { useSettings } from "./useSettings";
import { valueWords } from "./words";

/** What somebody who helps must know: the version, and what does not work; nothing of anybody's. */
const reportOf = (version: string, parts: Readonly<Record<string, PartHealth>>): string =>
  [
    `Bethink ${version}, ${navigator.userAgent}`,
    ...Object.entries(parts).map(([name, { status }]) => `${name}: ${status}`),
  ].join("\n");

export function About() {
  const { health } = useApp();
  const copy = useCopy();
  const { health: now, settings, reachable } = useStore(health.store);
  if (!now || !settings) {
    return reachable ? (
      <Skeleton lines={5} label={t("Loading the settings")} />
    ) : (
      <ProblemNotice problem={unreachable()} onRetry={() => void health.check()} />
    );
  }
  const facts = [
    [t("Version"), settings.version],
    [t("Data directory"), settings.data_dir],
    [t("Database"), now.parts?.store?.engine],
    [t("Model"), settings.model ?? t("None")],
    [t("Time zone"), settings.time_zone],
  ];
  return (
    <>
      <dl className={styles.facts}>
        {facts.map(
          ([name, value]) =>
            value && (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ),
        )}
      </dl>
      <div className={styles.buttons}>
        <Button
          icon={Copy}
          onClick={() => copy(reportOf(settings.version, now.parts ?? {}), t("Copied"))}
        >
          {t("Copy for a report")}
        </Button>
      </div>
      <section className={styles.part} aria-labelledby="parts">
        <h2 id="parts">{t("Status")}</h2>
        <Parts parts={now.parts ?? {}} />
      </section>
      <Changes />
    </>
  );
}

const ask = (signal: AbortSignal) => settingsApi.changes(signal);

/** Who changed which setting, the last first; never a secret. */
function Changes() {
  const { value, problem, read } = useRead(ask);
  const { find } = useSettings();
  const titleOf = (name: string) => told(find(name)?.title ?? name);
  const when = (at: string) =>
    new Date(at).toLocaleString(locale(), { dateStyle: "medium", timeStyle: "short" });
  return (
    <section className={styles.part} aria-labelledby="changes">
      <h2 id="changes">{t("Changes")}</h2>
      {problem?.status === 403 ? (
        <p className={styles.note}>{t("Only administrators see what was changed.")}</p>
      ) : (
        problem && <ProblemNotice problem={problem} onRetry={() => void read()} />
      )}
      {!value && !problem && <Skeleton lines={3} label={t("Loading the changes")} />}
      {value?.changes.length === 0 && (
        <p className={styles.note}>{t("No setting was changed yet.")}</p>
      )}
      <ul className={styles.changes}>
        {value?.changes.map(({ at, by, door, name, old, new: next }) => (
          <li key={`${at} ${name}`}>
            <time dateTime={at}>{when(at)}</time>
            <div>
              <p>
                {titleOf(name)}: {valueWords(old, name)} → {valueWords(next, name)}
              </p>
              <small>{[by, door].filter(Boolean).join(" · ")}</small>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}
