import { Check, CircleAlert, CircleCheck, Minus } from "lucide-react";
import type { ModelTest } from "../../../api/settings";
import { locale, t, told } from "../../../i18n";
import { duration } from "../../../services/words";
import styles from "./Model.module.css";

function Can({ yes, label, no }: { yes: boolean | null; label: string; no: string }) {
  const Icon = yes ? Check : Minus;
  return (
    <li className={yes ? styles.yes : styles.no}>
      <Icon size={15} aria-hidden />
      {yes ? label : no}
    </li>
  );
}

/** What a test found: how soon it answers and what it can, or what is wrong and what to do. */
export function TestResult({ test }: { test: ModelTest }) {
  const { ok, problem, first_token_ms: first, context_tokens: window, tools, vision } = test;
  if (!ok) {
    return (
      <div className={`${styles.result} ${styles.bad}`} role="alert">
        <CircleAlert size={18} aria-hidden />
        <div>
          <strong>{t("It does not work yet")}</strong>
          {problem?.detail && <p>{told(problem.detail)}</p>}
        </div>
      </div>
    );
  }
  return (
    <div className={styles.result} role="status">
      <CircleCheck size={18} aria-hidden />
      <div>
        <strong>
          {first === null
            ? t("It works")
            : t("It works: the first word came after {time}", { time: duration(first) })}
        </strong>
        <ul>
          <Can yes={tools} label={t("Uses tools")} no={t("Uses no tools")} />
          <Can yes={vision} label={t("Sees pictures")} no={t("Sees no pictures")} />
          {window !== null && (
            <li className={styles.yes}>
              <Check size={15} aria-hidden />
              {t("Reads {count} tokens at once", { count: window.toLocaleString(locale()) })}
            </li>
          )}
        </ul>
      </div>
    </div>
  );
}
