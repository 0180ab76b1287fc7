import { CircleCheck } from "lucide-react";
import { useEffect, useState } from "react";
import { t } from "../../../i18n";
import { Button } from "../../../kit/Button";
import { ProblemNotice, Skeleton } from "../../../kit/pieces";
import { ModelChooser } from "../model/ModelChooser";
import { useSettings } from "../useSettings";
import { setBy } from "../words";
import styles from "./Setup.module.css";

type StepProps = { onNext: () => void; onDone: (isDone: boolean) => void };

/** A model is chosen, or one is there already. */
export function ModelStep({ onNext, onDone }: StepProps) {
  const { find, all, problem, read } = useSettings();
  const [another, setAnother] = useState(false);
  const isChosen = Boolean(find("model")?.value) && !another;
  useEffect(() => onDone(isChosen), [isChosen, onDone]);
  if (problem && !all) return <ProblemNotice problem={problem} onRetry={() => void read()} />;
  const setting = find("model");
  if (all && !setting) {
    return <p className={styles.note}>{t("Ask an administrator to choose a model.")}</p>;
  }
  if (!setting) return <Skeleton lines={5} label={t("Loading the settings")} />;
  const locked = setBy(setting);
  if (isChosen) {
    return (
      <section className={styles.done} aria-label={t("The model")}>
        <CircleCheck size={22} aria-hidden />
        <div>
          <strong>{String(setting.value)}</strong>
          <p>{locked ?? t("This model answers.")}</p>
        </div>
        {!locked && <Button onClick={() => setAnother(true)}>{t("Choose another")}</Button>}
      </section>
    );
  }
  if (!setting.editable) {
    return <p className={styles.note}>{locked ?? t("Ask an administrator to choose a model.")}</p>;
  }
  return <ModelChooser onSaved={onNext} />;
}
