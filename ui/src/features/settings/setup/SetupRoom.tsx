// The first steps, one page each: a model, your history, a few words about you, the first chat. Each can be left out.
import { ArrowLeft, ArrowRight, Check } from "lucide-react";
import { type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import { settingsApi } from "../../../api/settings";
import { t } from "../../../i18n";
import { Button } from "../../../kit/Button";
import { Link } from "../../../kit/pieces";
import { useApp } from "../../../services/context";
import { type SetupStep, setupSteps } from "../../../services/router";
import { SettingsProvider } from "../useSettings";
import { AboutStep } from "./AboutStep";
import { HistoryStep } from "./HistoryStep";
import { ModelStep } from "./ModelStep";
import { ReadyStep } from "./ReadyStep";
import styles from "./Setup.module.css";

/** A step goes on by itself, or tells that nothing of it is left to do. */
type StepProps = { onNext: () => void; onDone: (isDone: boolean) => void };
const pages: Record<SetupStep, (props: StepProps) => ReactNode> = {
  model: ModelStep,
  history: HistoryStep,
  about: AboutStep,
  ready: ReadyStep,
};

const words = (): Record<SetupStep, { name: string; title: string; says: string }> => ({
  model: {
    name: t("Model"),
    title: t("Choose a model"),
    says: t(
      "Bethink remembers; a language model speaks. Use one on this machine, or one of a provider.",
    ),
  },
  history: {
    name: t("Your history"),
    title: t("Bring your history"),
    says: t("What you told other assistants need not be told again."),
  },
  about: {
    name: t("About you"),
    title: t("Three things about you"),
    says: t("So that the first answer fits already. You can change and remove all of it."),
  },
  ready: {
    name: t("Ready"),
    title: t("You are ready"),
    says: t("Ask anything. What matters is remembered for the next time."),
  },
});

const addressOf = (step: SetupStep) => `/setup/${step}`;

export default function SetupRoom({ step }: { step: SetupStep }) {
  const { router } = useApp();
  const top = useRef<HTMLDivElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const onward = useRef<HTMLButtonElement>(null);
  const [done, setDone] = useState<SetupStep | null>(null);
  const isDone = done === step;
  // biome-ignore lint/correctness/useExhaustiveDependencies: each step begins at its top
  useEffect(() => {
    top.current?.scrollTo(0, 0);
    heading.current?.focus({ preventScroll: true });
  }, [step]);
  const { title, says } = words()[step];
  const at = setupSteps.indexOf(step);
  const next = setupSteps[at + 1];
  const before = setupSteps[at - 1];
  const goOn = () => router.go(next ? addressOf(next) : "/");
  // Whoever leaves is not sent here again.
  const leave = () => {
    settingsApi.dismissSetup().catch(() => undefined);
    router.go("/");
  };
  const Page = pages[step];
  const tellDone = useCallback((is: boolean) => setDone(is ? step : null), [step]);
  // What was pressed last may be gone: the next thing to press is this.
  useEffect(() => {
    if (isDone && document.activeElement === document.body) onward.current?.focus();
  }, [isDone]);
  return (
    <SettingsProvider>
      <div ref={top} className={`page scroll ${styles.room}`}>
        <div className={styles.column}>
          <Steps current={step} />
          <header>
            <h1 ref={heading} tabIndex={-1}>
              {title}
            </h1>
            <p>{says}</p>
          </header>
          <Page key={step} onNext={goOn} onDone={tellDone} />
          <footer>
            {before && (
              <Link className="button quiet" to={addressOf(before)}>
                <ArrowLeft size={16} aria-hidden />
                {t("Back")}
              </Link>
            )}
            <span />
            {next && !isDone && (
              <Button look="quiet" onClick={leave}>
                {t("Do this later")}
              </Button>
            )}
            {next && (
              <Button ref={onward} look={isDone ? "primary" : "plain"} onClick={goOn}>
                {isDone ? t("Continue") : t("Skip this step")}
                <ArrowRight size={16} aria-hidden />
              </Button>
            )}
          </footer>
        </div>
      </div>
    </SettingsProvider>
  );
}

function Steps({ current }: { current: SetupStep }) {
  const at = setupSteps.indexOf(current);
  return (
    <nav aria-label={t("Steps")}>
      <ol className={styles.steps}>
        {setupSteps.map((step, position) => (
          <li key={step} className={position < at ? styles.past : undefined}>
            <Link to={addressOf(step)} aria-current={step === current ? "step" : undefined}>
              <span aria-hidden>
                {position < at ? <Check size={14} strokeWidth={2.5} /> : position + 1}
              </span>
              {words()[step].name}
            </Link>
          </li>
        ))}
      </ol>
    </nav>
  );
}
