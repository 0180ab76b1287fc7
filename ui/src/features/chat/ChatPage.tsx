import { Paperclip } from "lucide-react";
import { type ReactNode, useEffect, useRef } from "react";
import { prepareMarkdown } from "../../answer/LazyMarkdown";
import { answerText } from "../../answer/parts";
import { useCopy } from "../../answer/useCopy";
import { t } from "../../i18n";
import { DropHere } from "../../kit/DropHere";
import { ProblemNotice, Skeleton } from "../../kit/pieces";
import { useFileDrop } from "../../kit/useFileDrop";
import type { Session } from "../../run/session";
import type { SessionView } from "../../run/view";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";
import { useKey } from "../../services/useKey";
import { ChatHead } from "./ChatHead";
import styles from "./ChatPage.module.css";
import { Composer, type ComposerHandle } from "./Composer";
import chat from "./chat.module.css";
import { PlaceNote } from "./PlaceNote";
import { Stream } from "./Stream";
import { Welcome } from "./Welcome";

type ChatPageProps = {
  session: Session;
  panelOpen: boolean;
  panelUseful: boolean;
  onPanel: () => void;
  /** Shows the list of conversations, where it is not shown anyway. */
  onList: (() => void) | undefined;
};

/** What somebody who does not see the page hears: stages, not every word. */
function spoken({ running, link, turns }: SessionView): string {
  const run = turns.at(-1)?.run;
  if (link === "reconnecting") return t("Connection lost. Reconnecting.");
  if (running) {
    const tool = run?.parts.findLast((part) => part.type === "tool" && part.state === "running");
    return tool?.type === "tool" ? tool.label : t("Answering");
  }
  if (run?.end === "awaiting_approval") return t("Waiting for your decision.");
  return run?.end ? t("The answer is complete.") : "";
}

export function ChatPage({ session, onList, ...panel }: ChatPageProps) {
  const { toasts } = useApp();
  const view = useStore(session.store);
  const composer = useRef<ComposerHandle>(null);
  const copy = useCopy();
  const { over, handlers } = useFileDrop((dropped) => {
    session.uploads.add([...dropped.files]);
    composer.current?.focus();
  });
  useKey("focus-composer", () => composer.current?.focus());
  useKey("stop", () => view.running && session.stop().catch(toasts.fault));
  useKey("copy-answer", () => {
    const last = view.turns.findLast((turn) => answerText(turn.run));
    if (last) copy(answerText(last.run), t("Answer copied"));
  });
  useEffect(prepareMarkdown, []);
  const frame = (content: ReactNode) => (
    <div className={`page ${styles.page}`} {...handlers}>
      <ChatHead session={session} view={view} onList={onList} {...panel} />
      <p className="visually-hidden" role="status">
        {spoken(view)}
      </p>
      {view.conversation && <PlaceNote conversation={view.conversation} />}
      {content}
      {over && <DropHere icon={Paperclip}>{t("Drop files here to attach them")}</DropHere>}
    </div>
  );
  if (view.status === "failed" && view.problem) {
    return frame(
      <div className={chat.column}>
        <ProblemNotice problem={view.problem} onRetry={() => void session.load()} />
      </div>,
    );
  }
  const temporary = Boolean((view.conversation ?? view.begin).temporary);
  const empty = view.status === "ready" && !view.turns.length;
  return frame(
    <>
      {view.status === "loading" && (
        <div className={`${chat.column} ${styles.waiting}`}>
          <Skeleton lines={7} label={t("Loading the conversation")} />
        </div>
      )}
      {empty && <Welcome temporary={temporary} onChoose={(text) => composer.current?.put(text)} />}
      {view.status === "ready" && !empty && <Stream session={session} view={view} />}
      <Composer ref={composer} session={session} view={view} />
    </>,
  );
}
