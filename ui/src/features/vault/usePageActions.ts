import type { VaultChange } from "../../api/types";
import { vaultApi } from "../../api/vault";
import { useApp } from "../../services/context";
import { addressOfPage } from "../../services/router";
import { count } from "../../services/words";
import { titleOf } from "./treeRows";

/** Changes of pages, each with a receipt and its undo. */
export function usePageActions(onChanged: () => Promise<void>) {
  const { router, toasts } = useApp();
  const receipt = (text: string, changes: readonly VaultChange[], back: string) => {
    const tokens = changes.flatMap(({ undo }) => undo ?? []);
    if (!tokens.length) return toasts.show(text);
    const run = async () => {
      const here = router.path.get();
      try {
        for (const token of tokens) await vaultApi.undo(token);
        await onChanged();
        router.goOn(here, back);
      } catch (error) {
        toasts.fault(error);
        await onChanged();
      }
    };
    toasts.show(text, { label: "Undo", run: () => void run() });
  };
  return {
    create: async (path: string) => {
      const here = router.path.get();
      const heading = titleOf(path).replaceAll("_", " ");
      const made = await vaultApi.write(path, `# ${heading}\n\n`, "");
      await onChanged();
      router.goOn(here, addressOfPage(made.path));
    },
    move: async (path: string, to: string) => {
      const moved = await vaultApi.move(path, to);
      await onChanged();
      router.goOn(addressOfPage(path), addressOfPage(moved.path), true);
      const { length } = moved.relinked;
      const links = length ? `; links in ${count(length, "page")} were updated` : "";
      receipt(`Moved to ${moved.path}${links}`, [...moved.relinked, moved], addressOfPage(path));
    },
    /** What was typed is saved first where it can be, so that the history has it. */
    remove: async (path: string, saveAll?: () => Promise<void>) => {
      await saveAll?.().catch(() => undefined);
      try {
        const gone = await vaultApi.remove(path);
        await onChanged();
        router.goOn(addressOfPage(path), "/vault");
        receipt(`${titleOf(path)} is deleted; its history stays`, [gone], addressOfPage(path));
      } catch (error) {
        toasts.fault(error);
      }
    },
    restore: async (path: string, version: string) => {
      const change = await vaultApi.restore(path, version);
      await onChanged();
      receipt("Restored", [change], addressOfPage(change.path));
    },
  };
}

export type PageActions = ReturnType<typeof usePageActions>;
