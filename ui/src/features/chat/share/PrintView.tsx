// A conversation as a document to print, or to save as PDF by the browser's own dialog: all of its messages.
import { Printer, X } from "lucide-react";
import { type KeyboardEvent, useCallback, useEffect, useRef, useState } from "react";
import { createPortal } from "react-dom";
import { Transcript, type TranscriptMessage } from "../../../answer/Transcript";
import { api } from "../../../api/client";
import type { Conversation, StoredMessage } from "../../../api/types";
import { t } from "../../../i18n";
import { Button, IconButton } from "../../../kit/Button";
import { ProblemNotice, Skeleton } from "../../../kit/pieces";
import { useRead } from "../../../services/useRead";
import { fullDate } from "../../../services/words";
import styles from "./share.module.css";

const PAGE = 200;

function shown(said: StoredMessage): TranscriptMessage[] {
  if ((said.role !== "user" && said.role !== "assistant") || !said.content.trim()) return [];
  const { role, content, id } = said;
  const files = role === "user" ? { files: said.attachments } : {};
  return [{ key: id, role, content, at: Date.parse(said.at), ...files }];
}

/** All of it, from its first message. */
async function whole(id: string): Promise<TranscriptMessage[]> {
  let before: number | null | undefined;
  const pages: TranscriptMessage[][] = [];
  do {
    const page = await api.conversation(id, { before, limit: PAGE });
    pages.unshift(page.messages.flatMap(shown));
    before = page.cursor === null ? null : Number(page.cursor);
  } while (before !== null);
  return pages.flat();
}

/** Once all words are drawn: the parser, and what it loads, may come late. */
async function drawn(element: HTMLElement | null): Promise<void> {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  for (let round = 0; round < 200 && element?.querySelector("[data-markdown='plain']"); round += 1)
    await frame();
  await document.fonts.ready;
  await frame();
}

type PrintViewProps = { conversation: Conversation; onClose: () => void };

export default function PrintView({ conversation, onClose }: PrintViewProps) {
  const { id, title } = conversation;
  const view = useRef<HTMLDivElement>(null);
  const [isAsked, setAsked] = useState(false);
  const { value, problem, read } = useRead(
    useCallback(() => whole(id), [id]),
    undefined,
    true,
  );
  useEffect(() => {
    const root = document.getElementById("root");
    const before = document.activeElement;
    if (root) root.inert = true;
    view.current?.focus();
    return () => {
      if (root) root.inert = false;
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const print = useCallback(async () => {
    await drawn(view.current);
    window.print();
  }, []);
  useEffect(() => {
    if (!value || isAsked) return;
    setAsked(true);
    void print();
  }, [value, isAsked, print]);
  const press = (event: KeyboardEvent) => event.key === "Escape" && onClose();
  return createPortal(
    <div
      ref={view}
      className={styles.print}
      role="dialog"
      aria-modal="true"
      aria-label={t("Print or save as PDF")}
      tabIndex={-1}
      data-print
      onKeyDown={press}
    >
      <div className={styles.bar}>
        <h2>{t("Print or save as PDF")}</h2>
        <Button icon={Printer} look="primary" disabled={!value} onClick={() => void print()}>
          {t("Print")}
        </Button>
        <IconButton icon={X} label={t("Close")} onClick={onClose} />
      </div>
      {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
      {!value && !problem && <Skeleton lines={7} label={t("Loading the conversation")} />}
      {value && (
        <Transcript
          title={title}
          note={t("Printed on {at}", { at: fullDate(Date.now()) })}
          messages={value}
        />
      )}
    </div>,
    document.body,
  );
}
