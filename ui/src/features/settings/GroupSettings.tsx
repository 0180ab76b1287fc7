// The settings of a place: those that people look for first, the others folded below.
import type { ReactNode } from "react";
import { t, told } from "../../i18n";
import { Notice, ProblemNotice, Skeleton } from "../../kit/pieces";
import { settingsPlaces } from "../../services/settingsPlaces";
import styles from "./Room.module.css";
import { Setting } from "./Setting";
import { useSettings } from "./useSettings";

/** What people look for first in places with many settings; elsewhere all are. */
const first: Readonly<Record<string, readonly string[]>> = {
  model: ["model_fallbacks", "models_offered", "model_temperature", "model_reasoning_effort"],
  memory: [
    "memory_enabled",
    "extraction",
    "extraction_model",
    "titles",
    "summaries",
    "memory_consolidation",
  ],
  recall: ["recall_limit", "recall_profile_limit", "recall_min_score", "recall_tokens"],
  tools: ["tools_enabled", "max_steps", "max_run_cost_usd", "approval_timeout_s"],
  web: ["web_enabled", "web_search_url", "web_search_engines", "web_safe_search"],
  code: ["code_enabled", "code_sandbox", "code_timeout_s"],
  documents: ["documents_enabled", "documents_folders", "documents_quota_mb", "graph_enabled"],
  vault: ["vault.enabled", "vault.path", "vault.mirror", "vault.agent_model", "vault.trust"],
  dial: ["dial.enabled", "dial.url", "dial.model", "dial.memory"],
};

type GroupProps = {
  groups: readonly string[];
  found: string | null;
  /** Settings that have a form of their own in this place. */
  without?: readonly string[];
  children?: ReactNode;
};

export function GroupSettings({ groups, found, without = [], children }: GroupProps) {
  const { all, problem, read } = useSettings();
  if (problem && !all) return <ProblemNotice problem={problem} onRetry={() => void read()} />;
  if (!all) return <Skeleton lines={8} label={t("Loading the settings")} />;
  const known = all.groups ?? [];
  // A group that has no place is with the advanced ones, so that none is lost.
  const placed = settingsPlaces().flatMap((place) => place.groups);
  const isMine = (id: string) =>
    groups.includes(id) || (groups.includes("advanced") && !placed.includes(id));
  const shown = known.filter(({ id }) => isMine(id));
  if (!all.settings.length) {
    return (
      <>
        {children}
        <AdminsOnly />
      </>
    );
  }
  const several = shown.length > 1;
  return (
    <>
      {children}
      {shown.map(({ id, title, description }) => (
        <section
          key={id}
          className={styles.group}
          aria-labelledby={several ? `group-${id}` : undefined}
        >
          {several && (
            <header>
              <h2 id={`group-${id}`}>{told(title)}</h2>
              <p>{told(description)}</p>
            </header>
          )}
          <Rows group={id} found={found} without={without} />
        </section>
      ))}
    </>
  );
}

/** Stands where somebody may not see what is set. */
export function AdminsOnly() {
  return <Notice>{t("Only administrators see and change these settings.")}</Notice>;
}

type RowsProps = { group: string; found: string | null; without: readonly string[] };

function Rows({ group, found, without }: RowsProps) {
  const { all } = useSettings();
  const names = first[group];
  const mine = (all?.settings ?? []).filter(
    (each) => each.group === group && !without.includes(each.name),
  );
  const isFirst = (name: string) => !names || names.includes(name);
  const front = mine.filter(({ name }) => isFirst(name));
  const rest = mine.filter(({ name }) => !isFirst(name));
  const holds = rest.some(({ name }) => name === found);
  return (
    <>
      <ul className={styles.rows}>
        {front.map((each) => (
          <Setting key={each.name} setting={each} isFound={each.name === found} />
        ))}
      </ul>
      {rest.length > 0 && (
        <details className={styles.more} open={holds}>
          <summary>{t("More settings ({count})", { count: rest.length })}</summary>
          <ul className={styles.rows}>
            {rest.map((each) => (
              <Setting key={each.name} setting={each} isFound={each.name === found} />
            ))}
          </ul>
        </details>
      )}
    </>
  );
}
