// The tab says which conversation it shows, and what it does while somebody looks elsewhere.
import { useEffect, useRef } from "react";
import { t } from "../../i18n";
import type { SessionView } from "../../run/view";
import { titleOf } from "./ConversationMenu";

/** What stands before the name; `wasRunning` says that an answer ended that nobody has looked at. */
export function stateWord({ running, turns }: SessionView, hasEnded: boolean): string {
  if (running) return `● ${t("Answering")}`;
  if (turns.at(-1)?.run.end === "awaiting_approval") return `? ${t("Needs you")}`;
  return hasEnded ? `✓ ${t("Answered")}` : "";
}

export function useTabTitle(view: SessionView): void {
  const { running, conversation, id } = view;
  const ended = useRef(false);
  const before = useRef(running);
  if (before.current && !running && document.visibilityState !== "visible") ended.current = true;
  if (running) ended.current = false;
  before.current = running;
  const name = id ? titleOf(conversation) : "";
  const word = stateWord(view, ended.current);
  useEffect(() => {
    const show = () => {
      if (document.visibilityState === "visible" && ended.current) ended.current = false;
      document.title = [stateWord(view, ended.current), name, "Bethink"]
        .filter(Boolean)
        .join(" · ");
    };
    void word;
    show();
    document.addEventListener("visibilitychange", show);
    return () => document.removeEventListener("visibilitychange", show);
  }, [view, word, name]);
}
