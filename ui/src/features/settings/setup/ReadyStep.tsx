import { ArrowUpRight } from "lucide-react";
import { useEffect } from "react";
import { NoModel } from "../../../answer/NoModel";
import { api } from "../../../api/client";
import { settingsApi } from "../../../api/settings";
import { t } from "../../../i18n";
import { Button } from "../../../kit/Button";
import { useApp } from "../../../services/context";
import { useStore } from "../../../services/store";
import { useRead } from "../../../services/useRead";
import { Setting } from "../Setting";
import { useSettings } from "../useSettings";
import styles from "./Setup.module.css";
import { sampleQuestions, toldBefore } from "./told";

const ask = (signal: AbortSignal) => api.imports(signal);

/** The first chat begins with a question that fits, or with an empty page. */
export function ReadyStep() {
  const { router, sessions, health } = useApp();
  const { settings } = useStore(health.store);
  const { value } = useRead(ask, undefined, true);
  const learning = useSettings().find("extraction");
  useEffect(() => void settingsApi.dismissSetup().catch(() => undefined), []);
  const begin = (text: string) => {
    sessions.of(null).draft.set(text);
    router.go("/");
  };
  const hasHistory = value?.items.some(({ state }) => state === "done") ?? false;
  return (
    <div className={styles.step}>
      {settings && !settings.model && <NoModel />}
      {settings?.model && learning && (
        <ul className={styles.learning} aria-label={t("Memory")}>
          <Setting setting={learning} isFound={false} />
        </ul>
      )}
      <ul className={styles.samples} aria-label={t("Suggestions")}>
        {sampleQuestions(toldBefore(), hasHistory).map((text) => (
          <li key={text}>
            <button type="button" onClick={() => begin(text)}>
              {text}
              <ArrowUpRight size={16} aria-hidden />
            </button>
          </li>
        ))}
      </ul>
      <div className={styles.onward}>
        <Button look="primary" onClick={() => router.go("/")}>
          {t("Start chatting")}
        </Button>
      </div>
    </div>
  );
}
