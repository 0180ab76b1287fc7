import { useState } from "react";
import { t } from "../../i18n";
import { Popover } from "../../kit/Popover";
import type { SessionView } from "../../run/view";
import { money, tokens } from "../../services/words";
import styles from "./ContextRing.module.css";
import chat from "./chat.module.css";
import { SummaryDialog } from "./SummaryDialog";
import { usedOf, WindowParts } from "./WindowParts";

function jobName(job: string): string {
  switch (job) {
    case "chat":
      return t("Answers");
    case "extraction":
      return t("Storing memories");
    case "title":
      return t("Title");
    case "summary":
      return t("Summaries");
    default:
      return job;
  }
}

const RADIUS = 7;
const ROUND = 2 * Math.PI * RADIUS;

function Ring({ share }: { share: number }) {
  return (
    <svg className={styles.ring} width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">
      <circle cx="9" cy="9" r={RADIUS} />
      <circle
        className={share > 0.85 ? `${styles.filled} ${styles.nearly}` : styles.filled}
        cx="9"
        cy="9"
        r={RADIUS}
        strokeDasharray={`${share * ROUND} ${ROUND}`}
        transform="rotate(-90 9 9)"
      />
    </svg>
  );
}

function Costs({ view }: { view: SessionView }) {
  const spent = view.conversation?.spent ?? [];
  if (!spent.length) return null;
  const priced = spent.some((each) => each.cost_usd !== null);
  const whole = spent.reduce((sum, each) => sum + (each.cost_usd ?? 0), 0);
  const all = spent.reduce((sum, each) => sum + each.input_tokens + each.output_tokens, 0);
  const isEstimated = spent.some((each) => each.estimated);
  return (
    <section>
      <h2>{t("This conversation so far")}</h2>
      <dl className={chat.figures}>
        {spent.map((each) => (
          <div key={each.job}>
            <dt>{jobName(each.job)}</dt>
            <dd>
              {tokens(each.input_tokens + each.output_tokens)}
              {each.cost_usd !== null && ` · ${money(each.cost_usd)}`}
            </dd>
          </div>
        ))}
        <div>
          <dt>{t("Total")}</dt>
          <dd>
            {isEstimated
              ? t("{count, plural, one {about # token} other {about # tokens}}", { count: all })
              : t("{count, plural, one {# token} other {# tokens}}", { count: all })}
            {priced && ` · ${money(whole)}`}
          </dd>
        </div>
      </dl>
    </section>
  );
}

/** How full the model's window is, of what, and what the conversation cost. */
export function ContextRing({ view }: { view: SessionView }) {
  const [reading, setReading] = useState(false);
  const filled = view.turns.findLast(({ run }) => run.window)?.run.window ?? view.window;
  if (!filled?.window) return null;
  const used = usedOf(filled);
  const share = Math.min(1, used / filled.window);
  const percent = Math.max(1, Math.round(100 * share));
  return (
    <>
      <Popover
        className={styles.button}
        label={t("Context window")}
        face={
          <>
            <Ring share={share} />
            <span aria-hidden>{tokens(used)}</span>
            <span className="visually-hidden">
              {t("Context window {percent} percent full; costs of this conversation", { percent })}
            </span>
          </>
        }
      >
        {(close) => (
          <div className={styles.note}>
            <WindowParts
              filled={filled}
              used={used}
              onSummary={() => {
                close();
                // The note has given the focus back by then, and the dialog gives it back to the same.
                requestAnimationFrame(() => setReading(true));
              }}
            />
            <Costs view={view} />
          </div>
        )}
      </Popover>
      {reading && view.id && (
        <SummaryDialog conversation={view.id} onClose={() => setReading(false)} />
      )}
    </>
  );
}
