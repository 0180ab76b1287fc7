import { api } from "../../api/client";
import type { ConversationPatch, FoundMessage } from "../../api/types";
import { t } from "../../i18n";
import { useApp } from "../../services/context";
import { addressOfChat, routeOf } from "../../services/router";

type Place = Pick<FoundMessage, "conversation" | "position" | "branch" | "active">;

/** What can be done to conversations, one or several, with its receipts. */
export function useConversationActions() {
  const { conversations, router, sessions, toasts } = useApp();
  const leave = (ids: readonly string[]) => {
    const route = routeOf(router.path.get());
    if (route.room === "chat" && ids.includes(route.conversation ?? "")) router.go("/");
  };
  /** Changes all of them; says what was done, and takes it back with `back`. */
  const changeAll = async (
    ids: readonly string[],
    patch: ConversationPatch,
    said?: string,
    back?: () => Promise<void>,
  ) => {
    const outcomes = await Promise.allSettled(
      ids.map(async (id) => sessions.learn(await conversations.change(id, patch))),
    );
    const failed = outcomes.find((each) => each.status === "rejected");
    if (failed) toasts.fault(failed.reason);
    else if (said) toasts.show(said, back && { label: t("Undo"), run: () => void back() });
    return !failed;
  };
  const archiveAll = async (ids: readonly string[], archived: boolean): Promise<void> => {
    const count = ids.length;
    const said = archived
      ? t("{count, plural, one {Conversation archived} other {# conversations archived}}", {
          count,
        })
      : t("{count, plural, one {Conversation restored} other {# conversations restored}}", {
          count,
        });
    const done = await changeAll(ids, { archived }, said, () => archiveAll(ids, !archived));
    if (done && archived) leave(ids);
  };
  const trashAll = async (ids: readonly string[], trashed: boolean): Promise<void> => {
    const count = ids.length;
    const put = conversations.store.get().items.filter(({ id }) => ids.includes(id));
    const archived = put.filter((each) => each.archived).map(({ id }) => id);
    const said = trashed
      ? t(
          "{count, plural, one {Conversation moved to the trash} other {# conversations moved to the trash}}",
          {
            count,
          },
        )
      : t("{count, plural, one {Conversation restored} other {# conversations restored}}", {
          count,
        });
    const back = async () => {
      await trashAll(ids, !trashed);
      if (trashed && archived.length) await changeAll(archived, { archived: true });
    };
    const done = await changeAll(ids, { trashed }, said, back);
    if (done && trashed) leave(ids);
  };
  const moveAll = async (ids: readonly string[], project: string | null): Promise<void> => {
    const count = ids.length;
    const known = conversations.store.get();
    const name = known.projects.find(({ id }) => id === project)?.name ?? project ?? "";
    const before = known.items.filter(({ id }) => ids.includes(id));
    const said = project
      ? t("{count, plural, one {Moved to {name}} other {# conversations moved to {name}}}", {
          count,
          name,
        })
      : t(
          "{count, plural, one {Moved out of its project} other {# conversations moved out of their projects}}",
          {
            count,
          },
        );
    await changeAll(ids, { project }, said, async () => {
      for (const each of before) await changeAll([each.id], { project: each.project });
    });
  };
  return {
    /** Opens a message that was found; one of another branch has that branch shown. */
    open: async ({ conversation, position, branch, active }: Place) => {
      const here = router.path.get();
      try {
        if (!active) {
          await api.patchConversation(conversation, { branch });
          await sessions.read(conversation, position);
          toasts.show(t("Showing an earlier version of the conversation"));
        }
        const address = addressOfChat(conversation, position);
        // It may be the address already, and its reader elsewhere on the page.
        if (router.path.get() === address) sessions.show(conversation, position);
        router.goOn(here, address);
      } catch (error) {
        toasts.fault(error);
      }
    },
    archiveAll,
    trashAll,
    moveAll,
    pinAll: async (ids: readonly string[], pinned: boolean) => {
      await changeAll(ids, { pinned });
    },
    setArchived: (id: string, archived: boolean) => archiveAll([id], archived),
    setUnread: (id: string, unread: boolean) => changeAll([id], { unread }),
    rename: (id: string, title: string) => changeAll([id], { title }),
    /** Deletes for good what is in the trash, also what is not listed yet. */
    emptyTrash: async (): Promise<void> => {
      let count = 0;
      try {
        for (;;) {
          const { items } = await api.conversations({ limit: 50, trashed: true });
          if (!items.length) break;
          for (const { id } of items) {
            await conversations.remove(id);
            sessions.forget(id);
            count += 1;
          }
          leave(items.map(({ id }) => id));
        }
        toasts.show(
          t("{count, plural, one {Conversation deleted} other {# conversations deleted}}", {
            count,
          }),
        );
      } catch (error) {
        toasts.fault(error);
      }
    },
    /** Deletes conversations for good. */
    removeAll: async (ids: readonly string[]): Promise<void> => {
      try {
        for (const id of ids) {
          await conversations.remove(id);
          sessions.forget(id);
        }
        leave(ids);
        const count = ids.length;
        toasts.show(
          t("{count, plural, one {Conversation deleted} other {# conversations deleted}}", {
            count,
          }),
        );
      } catch (error) {
        toasts.fault(error);
      }
    },
  };
}
