// The tab says which conversation it shows, and what it does while somebody looks elsewhere.
import { useEffect, useRef, useState } from "react";
import { t } from "../../i18n";
import type { SessionView } from "../../run/view";
import { useTitle } from "../../services/title";
import { titleOf } from "./ConversationMenu";
import { useVisible } from "./useSeen";

/** What stands before the name; `hasEnded`: nobody has looked at the answer since. */
function stateWord({ running, link, turns }: SessionView, hasEnded: boolean): string {
  if (running) return link === "reconnecting" ? `○ ${t("Reconnecting")}` : `● ${t("Answering")}`;
  if (turns.at(-1)?.run.end === "awaiting_approval") return `? ${t("Needs you")}`;
  return hasEnded ? `✓ ${t("Answered")}` : "";
}

export function useTabTitle(view: SessionView): void {
  const { running, conversation, id } = view;
  const visible = useVisible();
  const [hasEnded, setEnded] = useState(false);
  const wasRunning = useRef(running);
  useEffect(() => {
    if (running || visible) setEnded(false);
    else if (wasRunning.current) setEnded(true);
    wasRunning.current = running;
  }, [running, visible]);
  const parts = [stateWord(view, hasEnded), id ? titleOf(conversation) : ""];
  useTitle(parts.filter(Boolean).join(" · "));
}
