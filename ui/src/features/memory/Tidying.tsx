// Memory put in order as a whole: begun here or by itself at night, what was done each time, and the way back.
import { Sparkles } from "lucide-react";
import { useEffect } from "react";
import { memoryApi, type ReflectionPage, type ReflectionProgress } from "../../api/memory";
import { locale, t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Progress } from "../../kit/Field";
import { PageHead } from "../../kit/PageHead";
import { Empty, Link, Notice, ProblemNotice, Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { useNews } from "../../services/news";
import { useRead } from "../../services/useRead";
import styles from "./memory.module.css";
import { Receipt } from "./Receipt";

const LOOK_MS = 1000;
const ask = (signal: AbortSignal) => memoryApi.reflections(signal);

export function Tidying() {
  const { memoryNews, toasts } = useApp();
  const { value, problem, read, look, change } = useRead(ask);
  useNews(memoryNews, look);
  const isRunning = Boolean(value?.running);
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => void look(), LOOK_MS);
    return () => {
      clearInterval(timer);
      // It has just ended: the list beside it may be another.
      void memoryNews.tell();
    };
  }, [isRunning, look, memoryNews]);
  const begin = async () => {
    try {
      const now = await memoryApi.reflect();
      change(() => now);
    } catch (error) {
      toasts.fault(error);
    }
  };
  return (
    <>
      <PageHead title={t("Tidying up")}>
        <Button icon={Sparkles} disabled={!value || isRunning} onClick={() => void begin()}>
          {t("Tidy up now")}
        </Button>
      </PageHead>
      <div className={`${styles.body} scroll`}>
        {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
        {!value && !problem && <Skeleton lines={5} label={t("Loading what was tidied up")} />}
        {value && <Receipts page={value} onDone={look} />}
      </div>
    </>
  );
}

function Receipts({ page, onDone }: { page: ReflectionPage; onDone: () => Promise<void> }) {
  const { running, fault, items } = page;
  return (
    <>
      <p className={styles.meta}>
        {when(page)} <Link to="/settings/memory">{t("Change this in Settings")}</Link>
      </p>
      <div role="status">{running && <Running progress={running} />}</div>
      {fault && !running && (
        <Notice tone="fault">
          <span>{fault}</span>
        </Notice>
      )}
      {items.length > 0 ? (
        <ul className={styles.receipts} aria-label={t("What was done")}>
          {items.map((receipt) => (
            <li key={receipt.id}>
              <Receipt receipt={receipt} onDone={onDone} />
            </li>
          ))}
        </ul>
      ) : (
        !running && (
          <Empty icon={Sparkles} title={t("Nothing was tidied up yet")}>
            <p>
              {t(
                "Memories that say the same become one, contradictions are shown to you, and a profile is written. You see each time what was done, and can undo it.",
              )}
            </p>
          </Empty>
        )
      )}
    </>
  );
}

/** When it is done by itself. */
function when({ mode, hour }: ReflectionPage): string {
  if (mode === "off") return t("At night nothing is tidied up by itself.");
  const time = new Date(2000, 0, 1, hour).toLocaleTimeString(locale(), {
    hour: "numeric",
    minute: "2-digit",
  });
  return mode === "suggest"
    ? t("Each night after {time}, if something changed; merges wait for you.", { time })
    : t("Each night after {time}, if something changed.", { time });
}

function Running({ progress }: { progress: ReflectionProgress }) {
  const { stage, done, total } = progress;
  const words: Record<ReflectionProgress["stage"], string> = {
    waiting: t("Waiting to begin"),
    reading: t("Reading the memories"),
    comparing: t("Comparing pairs: {done} of {total}", { done, total }),
    writing: t("Writing the profile"),
    keeping: t("Keeping what was worked out"),
  };
  return (
    <div className={styles.running}>
      <p>{words[stage]}</p>
      <Progress
        bare
        label={t("Tidying up")}
        value={stage === "comparing" && total > 0 ? done / total : null}
        words={words[stage]}
      />
      <p className={styles.meta}>
        {t("You can go on: it waits while you are answered, and changes nothing before its end.")}
      </p>
    </div>
  );
}
