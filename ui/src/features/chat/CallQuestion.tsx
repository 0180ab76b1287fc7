// What a running call asks: a form, a page to visit, or leave to use the owner's model.
import { CircleHelp } from "lucide-react";
import { type FormEvent, useId, useState } from "react";
import lines from "../../answer/ToolLine.module.css";
import { asProblem } from "../../api/client";
import { serversApi } from "../../api/servers";
import type { CallAnswerBody, QuestionAsked } from "../../contract/openapi";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import styles from "./Approval.module.css";
import { QuestionFields, startOf, type Typed, valuesOf } from "./QuestionFields";

type QuestionProps = { asked: QuestionAsked; run: string };

const yes = (mode: QuestionAsked["mode"]): string =>
  ({ form: t("Send"), url: t("I am done there"), model: t("Allow this time") })[mode];

/** Who asks for what, in words of Bethink's own: all else on the card is the server's. */
const title = ({ mode, source }: QuestionAsked): string =>
  ({
    form: t("{server} asks you something", { server: source }),
    url: t("{server} wants you to visit a page", { server: source }),
    model: t("{server} wants your model to answer this", { server: source }),
  })[mode];

function useAnswering({ asked, run }: QuestionProps) {
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  const answer = async (body: CallAnswerBody) => {
    setBusy(true);
    setFault(null);
    try {
      await serversApi.answer(run, asked.question, body);
    } catch (error) {
      const problem = asProblem(error);
      setFault(problem.detail || problem.title);
      setBusy(false);
    }
  };
  return { busy, fault, answer };
}

export function CallQuestion(props: QuestionProps) {
  const { asked } = props;
  const heading = useId();
  const fields = asked.fields ?? [];
  const [typed, setTyped] = useState<Typed>(() => startOf(fields));
  const { busy, fault, answer } = useAnswering(props);
  const send = (event: FormEvent) => {
    event.preventDefault();
    void answer({ action: "accept", values: valuesOf(fields, typed) });
  };
  return (
    <form className={styles.approval} aria-labelledby={heading} aria-busy={busy} onSubmit={send}>
      <h2 id={heading}>
        <CircleHelp size={16} aria-hidden />
        <span className={lines.server}>{asked.source}</span>
        <span>{title(asked)}</span>
      </h2>
      <p className={styles.said}>{asked.text}</p>
      {asked.mode === "url" && <Page asked={asked} />}
      <QuestionFields fields={fields} typed={typed} onChange={setTyped} />
      {asked.mode === "form" && (
        <p className="hint">
          {t("It goes to this server and is not kept here. Never enter a password or a key.")}
        </p>
      )}
      {fault && <p role="alert">{fault}</p>}
      <div className="actions">
        <Button look="quiet" disabled={busy} onClick={() => void answer({ action: "cancel" })}>
          {t("Not now")}
        </Button>
        <Button disabled={busy} onClick={() => void answer({ action: "decline" })}>
          {t("Decline")}
        </Button>
        <Button look="primary" type="submit" disabled={busy}>
          {yes(asked.mode)}
        </Button>
      </div>
    </form>
  );
}

/** The page's host stands apart from its address, which may be long. */
function Page({ asked }: { asked: QuestionAsked }) {
  return (
    <p className={styles.said}>
      <a href={asked.url} target="_blank" rel="noopener noreferrer nofollow">
        {t("Open the page at {host}", { host: asked.host ?? "" })}
      </a>
      <br />
      <small>{asked.url}</small>
    </p>
  );
}
