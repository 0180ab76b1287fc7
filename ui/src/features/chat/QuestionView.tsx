import { Copy, Pencil } from "lucide-react";
import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from "react";
import { useCopy } from "../../answer/useCopy";
import { t } from "../../i18n";
import { Button, IconButton } from "../../kit/Button";
import { messageOf } from "../../run/past";
import type { Session } from "../../run/session";
import type { ShownTurn } from "../../run/view";
import { useApp } from "../../services/context";
import { fullDate, shortDate } from "../../services/words";
import { AttachmentList } from "./AttachmentList";
import { BranchSwitch } from "./BranchSwitch";
import { QuestionText } from "./QuestionText";
import styles from "./QuestionView.module.css";

type QuestionProps = {
  turn: ShownTurn;
  session: Session;
  busy: boolean;
  editing: boolean;
  found: boolean;
};

/** The owner's message as a field, in its place. What was said before is kept as another version. */
function EditQuestion({ turn, session, busy }: Pick<QuestionProps, "turn" | "session" | "busy">) {
  const { keys } = useApp();
  const before = turn.question?.content ?? "";
  const [text, setText] = useState(before);
  const field = useRef<HTMLTextAreaElement>(null);
  const close = () => {
    session.edit(null);
    keys.run("focus-composer");
  };
  useEffect(() => {
    field.current?.focus({ preventScroll: true });
    field.current?.setSelectionRange(before.length, before.length);
    field.current?.scrollIntoView({ block: "nearest" });
  }, [before]);
  const ready = text.trim() !== "" && !busy;
  const send = (event?: FormEvent) => {
    event?.preventDefault();
    if (!ready) return;
    if (text.trim() === before) close();
    else {
      void session.revise(turn, text.trim());
      keys.run("focus-composer");
    }
  };
  const press = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Escape") close();
    else if (event.key === "Enter" && !event.shiftKey) send();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <form className={styles.edit} onSubmit={send}>
      <textarea
        ref={field}
        dir={text ? "auto" : undefined}
        className="input"
        aria-label={t("Your message, edited")}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={press}
      />
      <div className="actions">
        <span className={styles.hint}>{t("The earlier version is kept.")}</span>
        <Button onClick={close}>{t("Cancel")}</Button>
        <Button look="primary" type="submit" disabled={!ready}>
          {t("Send")}
        </Button>
      </div>
    </form>
  );
}

export function QuestionView({ turn, session, busy, editing, found }: QuestionProps) {
  const copy = useCopy();
  const { question } = turn;
  if (!question) return null;
  return (
    <article
      className={`${styles.question} ${found ? styles.found : ""} ${editing ? styles.editing : ""}`}
      data-said="question"
      aria-label={t("You")}
      tabIndex={-1}
    >
      <AttachmentList
        of="question"
        files={question.attachments}
        session={session}
        label={t("Your files")}
      />
      {editing ? (
        <EditQuestion turn={turn} session={session} busy={busy} />
      ) : (
        <>
          <QuestionText said={question.content} />
          <footer className={`print-hidden ${question.siblings ? styles.shown : ""}`}>
            {question.at && (
              <time dateTime={new Date(question.at).toISOString()} title={fullDate(question.at)}>
                {shortDate(question.at)}
              </time>
            )}
            <IconButton
              icon={Copy}
              size={15}
              label={t("Copy message")}
              onClick={() => copy(question.content, t("Message copied"))}
            />
            {!turn.unsent && (
              <IconButton
                icon={Pencil}
                size={15}
                label={t("Edit message")}
                disabled={busy || messageOf(turn) === null}
                onClick={() => session.edit(turn)}
              />
            )}
            {question.siblings && (
              <BranchSwitch
                of="message"
                siblings={question.siblings}
                session={session}
                busy={busy}
              />
            )}
          </footer>
        </>
      )}
    </article>
  );
}
