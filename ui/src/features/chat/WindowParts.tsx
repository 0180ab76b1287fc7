import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import type { Window } from "../../run/reduce";
import { tokens } from "../../services/words";
import chat from "./chat.module.css";
import styles from "./WindowParts.module.css";

type Name = Exclude<keyof Window, "window">;
const parts: readonly Name[] = ["system", "tools", "memory", "summary", "history"];

function wordsOf(name: Name): string {
  switch (name) {
    case "system":
      return t("Instructions");
    case "tools":
      return t("Tools");
    case "memory":
      return t("Memory");
    case "summary":
      return t("Summary of earlier messages");
    case "history":
      return t("Messages");
  }
}
/** How many tokens of the window are taken. */
export const usedOf = (filled: Window): number =>
  parts.reduce((sum, name) => sum + filled[name], 0);

type PartsProps = { filled: Window; used: number; onSummary: () => void };

/** What fills the model’s window. */
export function WindowParts({ filled, used, onSummary }: PartsProps) {
  return (
    <section>
      <h2>{t("What the context window contains")}</h2>
      <div className={styles.bar} aria-hidden>
        {parts.map((name) => (
          <i
            key={name}
            className={styles[name]}
            style={{ width: `${(100 * filled[name]) / filled.window}%` }}
          />
        ))}
      </div>
      <dl className={chat.figures}>
        {parts
          .filter((name) => filled[name] > 0)
          .map((name) => (
            <div key={name}>
              <dt>
                <i className={`${styles.swatch} ${styles[name]}`} aria-hidden />
                {wordsOf(name)}
              </dt>
              <dd>{tokens(filled[name])}</dd>
            </div>
          ))}
        <div>
          <dt>{t("Free")}</dt>
          <dd>
            {t("{free} of {all}", {
              free: tokens(Math.max(0, filled.window - used)),
              all: tokens(filled.window),
            })}
          </dd>
        </div>
      </dl>
      {filled.summary > 0 && (
        <>
          <p>
            {t(
              "Earlier messages are summarised for the model. They all stay in this conversation.",
            )}
          </p>
          <Button onClick={onSummary}>{t("Read the summary")}</Button>
        </>
      )}
    </section>
  );
}
