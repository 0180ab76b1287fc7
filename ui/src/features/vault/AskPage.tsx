// A question to the vault: the agent that keeps it reads the pages and answers, step by step.

import { Send, Square } from "lucide-react";
import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from "react";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { PageHead } from "../../kit/PageHead";
import { Link } from "../../kit/pieces";
import { useStore } from "../../services/store";
import styles from "./Ask.module.css";
import { AskAnswer } from "./AskAnswer";
import type { Asking } from "./asking";
import vault from "./vault.module.css";
import type { Pages } from "./wikilinks";

const MOST_CHARS = 20_000;

type AskProps = { asking: Asking; pages: Pages; onChanged: () => Promise<void> };

export function AskPage({ asking, pages, onChanged }: AskProps) {
  const asked = useStore(asking.store);
  const { run, running } = asked;
  const state = running ? t("Reading the vault") : run?.end === "answered" ? t("Answered") : "";
  return (
    <div className={vault.page}>
      <PageHead title={t("Ask the vault")} isMain />
      <div className={`${vault.body} scroll`}>
        <div className={`page-inner ${styles.ask}`}>
          <p className={styles.lead}>
            {t(
              "The vault agent answers from your pages and writes down what you tell it. The answer stays here until you leave the vault. A conversation with a history is in",
            )}{" "}
            <Link to="/">{t("Chat")}</Link>.
          </p>
          <AskForm asking={asking} running={running} />
          <p className="visually-hidden" role="status">
            {state}
          </p>
          {run && (
            <AskAnswer
              asked={asked}
              run={run}
              pages={pages}
              onChanged={onChanged}
              onAgain={() => void asking.ask(asked.question)}
            />
          )}
        </div>
      </div>
    </div>
  );
}

function AskForm({ asking, running }: { asking: Asking; running: boolean }) {
  const [text, setText] = useState(asking.draft);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    asking.draft = text;
  }, [asking, text]);
  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) field.current?.focus();
  }, []);
  const ask = (event?: FormEvent) => {
    event?.preventDefault();
    const question = text.trim();
    if (!question) return;
    setText("");
    void asking.ask(question);
  };
  const press = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    ask();
  };
  return (
    <form className={styles.form} onSubmit={ask}>
      <label className="field">
        {t("Question")}
        <textarea
          ref={field}
          className="input"
          rows={2}
          maxLength={MOST_CHARS}
          value={text}
          placeholder={t("Ask a question, or say what to write down")}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={press}
        />
      </label>
      <div className="actions">
        {running && (
          <Button icon={Square} onClick={asking.stop}>
            {t("Stop")}
          </Button>
        )}
        <Button look="primary" icon={Send} type="submit" disabled={!text.trim()}>
          {t("Ask")}
        </Button>
      </div>
    </form>
  );
}
