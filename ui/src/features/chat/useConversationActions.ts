import { useApp } from "../../services/context";

/** What can be done to a conversation, with its receipts. */
export function useConversationActions() {
  const { conversations, router, sessions, toasts } = useApp();
  const leave = (id: string) => router.path.get() === `/c/${id}` && router.go("/");
  const setArchived = async (id: string, archived: boolean) => {
    try {
      await conversations.archive(id, archived);
      const undo = { label: "Undo", run: () => void setArchived(id, !archived) };
      toasts.show(archived ? "Conversation archived" : "Conversation is back in the list", undo);
      if (archived) leave(id);
    } catch (error) {
      toasts.fault(error);
    }
  };
  return {
    archive: (id: string) => void setArchived(id, !conversations.store.get().archived),
    setArchived,
    rename: async (id: string, title: string) => {
      try {
        await conversations.rename(id, title);
      } catch (error) {
        toasts.fault(error);
      }
    },
    remove: async (id: string) => {
      try {
        await conversations.remove(id);
        sessions.forget(id);
        leave(id);
        toasts.show("Conversation deleted");
      } catch (error) {
        toasts.fault(error);
      }
    },
  };
}
