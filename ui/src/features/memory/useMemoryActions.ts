import { api } from "../../api/client";
import type { Memory, MemoryDraft, MemoryPatch, MemoryWritten } from "../../api/types";
import { useApp } from "../../services/context";
import { count } from "../../services/words";

const added: Partial<Record<MemoryWritten["change"], string>> = {
  merged: "Already known; not stored twice",
  superseded: "Remembered. The memory that it replaces is kept as history",
  suggested: "Saved for your review",
};

/** Changes of memory, each with a receipt and, where that can be, its undo. */
export function useMemoryActions() {
  const { toasts, memoryNews } = useApp();
  const receipt = (text: string, undo: string | null) => {
    if (!undo) return toasts.show(text);
    const run = async () => {
      try {
        await api.undo(undo);
        await memoryNews.tell();
      } catch (error) {
        toasts.fault(error);
      }
    };
    toasts.show(text, { label: "Undo", run: () => void run() });
  };
  /** True when it was done. */
  const attempt = async (work: () => Promise<void>): Promise<boolean> => {
    try {
      await work();
      await memoryNews.tell();
      return true;
    } catch (error) {
      toasts.fault(error);
      return false;
    }
  };
  return {
    add: (draft: MemoryDraft) =>
      attempt(async () => {
        const { change, undo } = await api.addMemory(draft);
        receipt(added[change] ?? "Remembered", undo);
      }),
    edit: (id: string, patch: MemoryPatch) =>
      attempt(async () => {
        const { undo } = await api.patchMemory(id, patch);
        receipt("Corrected. The earlier version is kept as history", undo);
      }),
    pin: ({ id, pinned }: Memory) =>
      attempt(async () => {
        const { undo } = await api.patchMemory(id, { pinned: !pinned });
        receipt(pinned ? "No longer pinned" : "Pinned", undo);
      }),
    retract: (id: string) =>
      attempt(async () => {
        const { undo } = await api.retractMemory(id);
        receipt("Retracted: answers no longer use it", undo);
      }),
    consolidate: () =>
      attempt(async () => {
        const { merges, undo } = await api.consolidate(false);
        const gone = merges.reduce((total, merge) => total + merge.gone.length, 0);
        receipt(`${count(gone, "duplicate")} merged`, undo);
      }),
    accept: (id: string) =>
      attempt(async () => {
        const { undo } = await api.acceptMemory(id);
        receipt("Accepted: answers can use it now", undo);
      }),
    reject: (id: string) =>
      attempt(async () => {
        const { undo } = await api.rejectMemory(id);
        receipt("Rejected", undo);
      }),
  };
}

export type MemoryActions = ReturnType<typeof useMemoryActions>;
