import { api } from "../../api/client";
import { type BatchEdit, memoryApi } from "../../api/memory";
import type { Memory, MemoryDraft, MemoryPatch, MemoryWritten } from "../../api/types";
import { t } from "../../i18n";
import { useApp } from "../../services/context";
import { categoryName, personName } from "./words";

function addedWords(change: MemoryWritten["change"]): string {
  if (change === "merged") return t("Already known; not stored twice");
  if (change === "superseded")
    return t("Remembered. The memory that it replaces is kept as history");
  if (change === "corrected") return t("Remembered. What it corrects is not used any more");
  return change === "suggested" ? t("Saved for your review") : t("Remembered");
}

function batchWords({ retract, pinned, category, about }: BatchEdit, count: number): string {
  if (retract)
    return t(
      "{count, plural, one {# memory} other {# memories}} retracted: answers no longer use them",
      {
        count,
      },
    );
  if (category)
    return t("{count, plural, one {# memory} other {# memories}} filed under {category}", {
      count,
      category: categoryName(category),
    });
  if (about)
    return t("{count, plural, one {# memory is} other {# memories are}} about {name} now", {
      count,
      name: personName(about),
    });
  return pinned
    ? t("{count, plural, one {# memory} other {# memories}} pinned", { count })
    : t("{count, plural, one {# memory} other {# memories}} unpinned", { count });
}

/** Changes of memory, each with a receipt and, where that can be, its undo. */
export function useMemoryActions() {
  const { toasts, memoryNews } = useApp();
  const takeBack = async (token: string) => {
    try {
      await api.undo(token);
      toasts.settle(token);
      await memoryNews.tell();
      return true;
    } catch (error) {
      toasts.fault(error);
      return false;
    }
  };
  const receipt = (text: string, undo: string | null) => {
    if (!undo) return toasts.show(text);
    toasts.show(text, { label: t("Undo"), run: () => void takeBack(undo), of: undo });
  };
  /** What was written, null if it was not. */
  const written = async (
    work: () => Promise<MemoryWritten>,
    words: (done: MemoryWritten) => string,
  ): Promise<MemoryWritten | null> => {
    try {
      const done = await work();
      receipt(words(done), done.undo);
      await memoryNews.tell();
      return done;
    } catch (error) {
      toasts.fault(error);
      return null;
    }
  };
  return {
    takeBack,
    add: (draft: MemoryDraft) =>
      written(
        () => api.addMemory(draft),
        ({ change }) => addedWords(change),
      ),
    edit: (id: string, patch: MemoryPatch) =>
      written(
        () => api.patchMemory(id, patch),
        () => t("Corrected. The earlier version is kept as history"),
      ),
    pin: ({ id, pinned }: Memory) =>
      written(
        () => api.patchMemory(id, { pinned: !pinned }),
        () => (pinned ? t("No longer pinned") : t("Pinned")),
      ),
    file: (id: string, category: string) =>
      written(
        () => api.patchMemory(id, { category }),
        () => t("Filed under {category}", { category: categoryName(category) }),
      ),
    retract: (id: string) =>
      written(
        () => api.retractMemory(id),
        () => t("Retracted: answers no longer use it"),
      ),
    batch: (ids: readonly string[], edit: BatchEdit) =>
      written(
        () => memoryApi.batch(ids, edit),
        ({ count }) => batchWords(edit, count),
      ),
    keep: (others: readonly string[]) =>
      written(
        () => memoryApi.batch(others, { retract: true }),
        () => t("Kept. What contradicted it is retracted"),
      ),
    merge: (keep: string, gone: readonly string[]) =>
      written(
        () => memoryApi.merge(keep, gone),
        () => t("Merged into one"),
      ),
    consolidate: async () => {
      try {
        const { merges, undo } = await api.consolidate(false);
        const count = merges.reduce((total, merge) => total + merge.gone.length, 0);
        receipt(
          t("{count, plural, one {# duplicate} other {# duplicates}} merged", { count }),
          undo,
        );
        await memoryNews.tell();
      } catch (error) {
        toasts.fault(error);
      }
    },
    answer: (id: string, content: string) =>
      written(
        () => memoryApi.answer(id, content),
        ({ change }) => addedWords(change),
      ),
    dismiss: async (id: string) => {
      try {
        await memoryApi.dismiss(id);
        toasts.show(t("Dismissed: it is not asked again"));
        await memoryNews.tell();
      } catch (error) {
        toasts.fault(error);
      }
    },
    accept: (id: string) =>
      written(
        () => api.acceptMemory(id),
        () => t("Accepted: answers can use it now"),
      ),
    reject: (id: string) =>
      written(
        () => api.rejectMemory(id),
        () => t("Rejected"),
      ),
  };
}

export type MemoryActions = ReturnType<typeof useMemoryActions>;
