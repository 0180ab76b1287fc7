import type { RefObject } from "react";
import type { VaultChange } from "../../api/types";
import { vaultApi } from "../../api/vault";
import { t } from "../../i18n";
import { useApp } from "../../services/context";
import { addressOfPage } from "../../services/router";
import { filled } from "./notes";
import { titleOf } from "./treeRows";

/** Saves the page that is open, if one is. */
export type Saving = RefObject<(() => Promise<void>) | null>;

/** Changes of pages, each with a receipt and its undo. */
export function usePageActions(onChanged: () => Promise<void>, saving: Saving) {
  const { router, toasts } = useApp();
  /** What is typed in the open page is saved before its file goes elsewhere. */
  const settle = async () => saving.current?.();
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
    /** Makes a page, from a template if there is one, and goes there. */
    create: async (path: string, template: string | null = null, replace = false) => {
      const here = router.path.get();
      const heading = titleOf(path).replaceAll("_", " ");
      const text = template ?? "# {{title}}\n\n";
      const made = await vaultApi.write(path, filled(text, heading, new Date()), "");
      await onChanged();
      router.goOn(here, addressOfPage(made.path), replace);
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
    /** Moves pages one after the other, links following each; `where` says where to, in words. */
    moveAll: async (moves: readonly { path: string; to: string }[], where: string) => {
      const here = router.path.get();
      const changes: VaultChange[] = [];
      await settle();
      try {
        for (const { path, to } of moves) {
          const moved = await vaultApi.move(path, to);
          changes.push(...moved.relinked, moved);
          router.goOn(addressOfPage(path), addressOfPage(moved.path), true);
        }
      } finally {
        await onChanged();
        const count = changes.filter((one) => one.moved_from).length;
        const said = t("Moved {count, plural, one {# page} other {# pages}} to {where}", {
          count,
          where,
        });
        if (count) receipt(said, changes.toReversed(), here);
      }
    },
    removeAll: async (paths: readonly string[]) => {
      const here = router.path.get();
      const gone: VaultChange[] = [];
      await settle().catch(() => undefined);
      try {
        for (const path of paths) {
          gone.push(await vaultApi.remove(path));
          router.goOn(addressOfPage(path), "/vault");
        }
      } finally {
        await onChanged();
        const count = gone.length;
        const said = t(
          "{count, plural, one {# page is} other {# pages are}} deleted; their history stays",
          { count },
        );
        if (count) receipt(said, gone.toReversed(), here);
      }
    },
    move: async (path: string, to: string) => {
      await settle();
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
