import type { VaultChange } from "../../api/types";
import { vaultApi } from "../../api/vault";
import { t } from "../../i18n";
import { useApp } from "../../services/context";
import { addressOfPage } from "../../services/router";
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
    toasts.show(text, { label: t("Undo"), run: () => void run() });
  };
  return {
    create: async (path: string) => {
      const here = router.path.get();
      const heading = titleOf(path).replaceAll("_", " ");
      const made = await vaultApi.write(path, `# ${heading}\n\n`, "");
      await onChanged();
      router.goOn(here, addressOfPage(made.path));
    },
    /** Makes a page without going there. */
    add: async (path: string) => {
      const heading = titleOf(path).replaceAll("_", " ");
      try {
        const made = await vaultApi.write(path, `# ${heading}\n\n`, "");
        await onChanged();
        receipt(t("{page} is made", { page: titleOf(path) }), [made], router.path.get());
      } catch (error) {
        toasts.fault(error);
      }
    },
    move: async (path: string, to: string) => {
      const moved = await vaultApi.move(path, to);
      await onChanged();
      router.goOn(addressOfPage(path), addressOfPage(moved.path), true);
      const { length: pages } = moved.relinked;
      const said = pages
        ? t(
            "Moved to {path}; links in {pages, plural, one {# page} other {# pages}} were updated",
            { path: moved.path, pages },
          )
        : t("Moved to {path}", { path: moved.path });
      receipt(said, [...moved.relinked, moved], addressOfPage(path));
    },
    /** What was typed is saved first where it can be, so that the history has it. */
    remove: async (path: string, saveAll?: () => Promise<void>) => {
      await saveAll?.().catch(() => undefined);
      try {
        const gone = await vaultApi.remove(path);
        await onChanged();
        router.goOn(addressOfPage(path), "/vault");
        const said = t("{page} is deleted; its history stays", { page: titleOf(path) });
        receipt(said, [gone], addressOfPage(path));
      } catch (error) {
        toasts.fault(error);
      }
    },
    restore: async (path: string, version: string) => {
      const change = await vaultApi.restore(path, version);
      await onChanged();
      receipt(t("Restored"), [change], addressOfPage(change.path));
    },
  };
}

export type PageActions = ReturnType<typeof usePageActions>;
