// An answer is read once somebody has it before their eyes.
import { useEffect, useState } from "react";
import type { SessionView } from "../../run/view";
import { useApp } from "../../services/context";

/** Whether the page is looked at. */
export function useVisible(): boolean {
  const [visible, setVisible] = useState(document.visibilityState === "visible");
  useEffect(() => {
    const look = () => setVisible(document.visibilityState === "visible");
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, []);
  return visible;
}

export function useSeen({ conversation, running, status }: SessionView): void {
  const { conversations, sessions } = useApp();
  const visible = useVisible();
  const id =
    conversation?.unread && !running && status === "ready" && visible ? conversation.id : null;
  useEffect(() => {
    if (!id) return;
    // It is only a mark: what fails now is done with the next look.
    conversations.change(id, { unread: false }).then(
      (now) => sessions.learn(now),
      () => undefined,
    );
  }, [id, conversations, sessions]);
}
