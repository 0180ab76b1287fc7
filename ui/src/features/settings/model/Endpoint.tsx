// One provider: its address, its key, which of its models, whether it works, and saving it.
import { ArrowLeft } from "lucide-react";
import { useEffect, useId, useRef } from "react";
import type { LocalServer, Provider } from "../../../api/settings";
import { t, told } from "../../../i18n";
import { Button, IconButton } from "../../../kit/Button";
import { ProblemNotice } from "../../../kit/pieces";
import { SecretInput } from "../SecretField";
import styles from "./Model.module.css";
import { ModelFiles } from "./ModelFiles";
import { ModelList } from "./ModelList";
import { TestResult } from "./TestResult";
import { useEndpoint } from "./useEndpoint";

type EndpointProps = {
  provider: Provider;
  server: LocalServer | null;
  onBack: () => void;
  onSaved: (model: string) => void;
};

export function Endpoint({ provider, server, onBack, onSaved }: EndpointProps) {
  const way = useEndpoint(provider, server, onSaved);
  const id = useId();
  const top = useRef<HTMLHeadingElement>(null);
  useEffect(() => top.current?.focus(), []);
  return (
    <section className={styles.endpoint} aria-labelledby={id}>
      <header>
        <IconButton icon={ArrowLeft} label={t("All providers")} onClick={onBack} />
        <div>
          <h2 ref={top} id={id} tabIndex={-1}>
            {told(provider.title)}
          </h2>
          <p>{told(provider.description)}</p>
        </div>
      </header>
      {provider.runs_files && (
        <>
          <ModelFiles
            provider={provider}
            isSaving={way.isSaving}
            onUse={(file) => void way.saveFile(file)}
          />
          <h3>{t("Or a server that runs already")}</h3>
        </>
      )}
      {way.hasAddress && (
        <label className="field">
          {t("Address (base URL)")}
          <input
            className="input"
            type="url"
            spellCheck={false}
            autoComplete="off"
            placeholder={provider.default_base_url ?? "https://models.example/v1"}
            value={way.baseUrl}
            onChange={(event) => way.setBaseUrl(event.target.value)}
            onBlur={way.list}
          />
        </label>
      )}
      {way.hasKey && (
        <div className="field">
          <label htmlFor={`${id}-secret`}>
            {provider.needs_key ? t("Key") : t("Key, if it asks for one")}
          </label>
          <SecretInput
            id={`${id}-secret`}
            value={way.key}
            placeholder={way.keyIsKept ? t("A key is kept. Paste another to replace it.") : ""}
            aria-describedby={`${id}-key`}
            onChange={(event) => way.setKey(event.target.value)}
            onBlur={way.list}
            onPaste={way.listSoon}
          />
          <small id={`${id}-key`}>
            {t("It is kept encrypted on this machine, and shown to nobody again.")}
          </small>
        </div>
      )}
      <ModelList
        models={way.models}
        isLoading={way.isListing}
        problem={way.listProblem}
        chosen={way.model}
        onChoose={way.setModel}
        onList={way.list}
      />
      {way.isTesting && (
        <p role="status" className={styles.nothing}>
          {t("Asking it. A large model on this machine may need a minute to load.")}
        </p>
      )}
      {way.test && <TestResult test={way.test} />}
      {way.problem && <ProblemNotice problem={way.problem} />}
      <div className={styles.actions}>
        <Button disabled={!way.model} onClick={() => void way.runTest()}>
          {way.isTesting ? t("Testing…") : t("Test")}
        </Button>
        <Button
          look="primary"
          disabled={!way.model || way.isSaving}
          onClick={() => void way.save()}
        >
          {way.test && !way.test.ok ? t("Use it anyway") : t("Use this model")}
        </Button>
      </div>
    </section>
  );
}
