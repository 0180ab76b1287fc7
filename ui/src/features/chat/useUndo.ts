import { api } from "../../api/client";
import type { Session } from "../../run/session";
import { useApp } from "../../services/context";

/** Takes a change of memory back by its token. */
export function useUndo(session: Session) {
  const { toasts } = useApp();
  return async (token: string) => {
    try {
      await api.undo(token);
      session.markUndone(token);
      toasts.show("Undone. Memory is as it was before.");
    } catch (error) {
      toasts.fault(error);
    }
  };
}
