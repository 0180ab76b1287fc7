import { api } from "../../api/client";
import { t } from "../../i18n";
import type { Session } from "../../run/session";
import { useApp } from "../../services/context";

/** Takes a change of memory back by its token. */
export function useUndo(session: Session) {
  const { toasts, memoryNews } = useApp();
  return async (token: string) => {
    // It may be offered in two places, and a second press would be refused.
    if (session.undoing.has(token)) return;
    session.undoing.add(token);
    try {
      await api.undo(token);
      session.markUndone(token);
      toasts.show(t("Undone. The change to memory was reverted."));
      await memoryNews.tell();
    } catch (error) {
      toasts.fault(error);
    } finally {
      session.undoing.delete(token);
    }
  };
}
