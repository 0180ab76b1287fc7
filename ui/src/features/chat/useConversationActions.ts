import { api } from "../../api/client";
import type { FoundMessage } from "../../api/types";
import { useApp } from "../../services/context";
import { addressOfChat, routeOf } from "../../services/router";

type Place = Pick<FoundMessage, "conversation" | "position" | "branch" | "active">;

/** What can be done to a conversation, with its receipts. */
export function useConversationActions() {
  const { conversations, router, sessions, toasts } = useApp();
  const leave = (id: string) => {
    const route = routeOf(router.path.get());
    if (route.room === "chat" && route.conversation === id) router.go("/");
  };
  const setArchived = async (id: string, archived: boolean) => {
    try {
      sessions.learn(await conversations.change(id, { archived }));
      const undo = { label: "Undo", run: () => void setArchived(id, !archived) };
      toasts.show(archived ? "Conversation archived" : "Conversation restored to the list", undo);
      if (archived) leave(id);
    } catch (error) {
      toasts.fault(error);
    }
  };
  return {
    /** Opens a message that was found; one of another branch has that branch shown. */
    open: async ({ conversation, position, branch, active }: Place) => {
      const here = router.path.get();
      try {
        if (!active) {
          await api.patchConversation(conversation, { branch });
          await sessions.read(conversation, position);
          toasts.show("Showing an earlier version of the conversation");
        }
        const address = addressOfChat(conversation, position);
        // It may be the address already, and its reader elsewhere on the page.
        if (router.path.get() === address) sessions.show(conversation, position);
        router.goOn(here, address);
      } catch (error) {
        toasts.fault(error);
      }
    },
    archive: (id: string) => void setArchived(id, !conversations.store.get().archived),
    setArchived,
    rename: async (id: string, title: string) => {
      try {
        sessions.learn(await conversations.change(id, { title }));
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
