// The model that answers, another one in its place, and what else is set about models.
import { useState } from "react";
import { asProblem } from "../../api/client";
import { type ModelTest, settingsApi } from "../../api/settings";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { useApp } from "../../services/context";
import { GroupSettings } from "./GroupSettings";
import styles from "./model/Model.module.css";
import { ModelChooser } from "./model/ModelChooser";
import { TestResult } from "./model/TestResult";
import { useSettings } from "./useSettings";
import { setBy } from "./words";

export function ModelPage({ found }: { found: string | null }) {
  const { toasts } = useApp();
  const { find } = useSettings();
  const [choosing, setChoosing] = useState(found === "model");
  const setting = find("model");
  const saved = (model: string) => {
    setChoosing(false);
    toasts.show(t("{model} answers from now on", { model }));
  };
  return (
    <GroupSettings groups={["model"]} found={found} without={["model"]}>
      {setting && (
        <Now
          key={String(setting.value)}
          model={String(setting.value ?? "")}
          locked={
            setBy(setting) ?? (setting.editable ? null : t("Only administrators may change it."))
          }
          choosing={choosing}
          onChoose={() => setChoosing(!choosing)}
        />
      )}
      {choosing && <ModelChooser onSaved={saved} />}
    </GroupSettings>
  );
}

type NowProps = {
  model: string;
  locked: string | null;
  choosing: boolean;
  onChoose: () => void;
};

function Now({ model, locked, choosing, onChoose }: NowProps) {
  const { toasts } = useApp();
  const [test, setTest] = useState<ModelTest | null>(null);
  const [testing, setTesting] = useState(false);
  const run = async () => {
    setTesting(true);
    try {
      setTest(await settingsApi.testModel({ model }));
    } catch (error) {
      toasts.fault(asProblem(error));
    }
    setTesting(false);
  };
  return (
    <>
      <section className={styles.now} aria-label={t("The model")}>
        <div>
          <strong>{model || t("No model is set up")}</strong>
          <p>{locked ?? (model ? t("It answers in new messages.") : t("Choose one to begin."))}</p>
        </div>
        {model && (
          <Button disabled={testing} onClick={() => void run()}>
            {testing ? t("Testing…") : t("Test")}
          </Button>
        )}
        {!locked && (
          <Button look={model ? "plain" : "primary"} aria-expanded={choosing} onClick={onChoose}>
            {choosing ? t("Cancel") : model ? t("Choose another") : t("Choose a model")}
          </Button>
        )}
      </section>
      {test && <TestResult test={test} />}
    </>
  );
}
