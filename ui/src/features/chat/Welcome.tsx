import { ArrowUpRight, Ghost } from "lucide-react";
import { NoModel } from "../../answer/NoModel";
import { t } from "../../i18n";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";
import chat from "./chat.module.css";
import styles from "./Welcome.module.css";

const withModel = () => [
  t("Remember that I prefer trains to planes"),
  t("What do you know about me?"),
  t("Plan a quiet weekend by the sea with me"),
];
const without = () => [
  `/remember ${t("I live in Paris")}`,
  `/recall ${t("where I live")}`,
  "/help",
];

function greeting(hour: number): string {
  if (hour < 5) return t("Still up?");
  if (hour < 12) return t("Good morning.");
  return hour < 18 ? t("Good afternoon.") : t("Good evening.");
}

/** A page on which nothing has been said yet. */
export function Welcome(props: { temporary: boolean; onChoose: (text: string) => void }) {
  const { temporary, onChoose } = props;
  const { health } = useApp();
  const { settings } = useStore(health.store);
  const noModel = settings !== null && !settings.model;
  const known = settings !== null;
  return (
    <div className={`${styles.welcome} scroll`}>
      <div className={chat.column}>
        {temporary ? (
          <>
            <p className={styles.hello}>
              <Ghost size={24} strokeWidth={1.5} aria-hidden /> {t("Temporary chat")}
            </p>
            <p className={styles.ask}>{t("This chat is not listed, searched or remembered.")}</p>
          </>
        ) : (
          <>
            <p className={styles.hello}>{greeting(new Date().getHours())}</p>
            <p className={styles.ask}>{t("How can I help?")}</p>
          </>
        )}
        {!temporary && (
          <ul className={styles.samples} data-known={known} aria-label={t("Suggestions")}>
            {(noModel ? without() : withModel()).map((text) => (
              <li key={text}>
                <button type="button" onClick={() => onChoose(text)}>
                  {text}
                  <ArrowUpRight size={16} aria-hidden />
                </button>
              </li>
            ))}
          </ul>
        )}
        {noModel && <NoModel />}
      </div>
    </div>
  );
}
