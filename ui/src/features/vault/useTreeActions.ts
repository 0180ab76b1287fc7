// What the tree does with pages and folders: all of it by the server's moves, so that links follow.
import { useState } from "react";
import { vaultApi } from "../../api/vault";
import { t } from "../../i18n";
import { useApp } from "../../services/context";
import { folderOf, movesInto, nameOf, pagesIn, type TreeNode } from "./treeRows";
import type { PageActions } from "./usePageActions";

/** What a dialog asks for: a new page or folder here, or where to move these. */
export type Asked =
  | { kind: "page"; folder: string }
  | { kind: "folder"; folder: string }
  | { kind: "move"; paths: readonly string[] };

export function useTreeActions(
  pages: readonly string[],
  folders: readonly string[],
  actions: PageActions,
  onChanged: () => Promise<void>,
) {
  const { toasts } = useApp();
  const [asked, setAsked] = useState<Asked | null>(null);
  /** Folders that were moved or deleted with their pages stay behind empty: they go, too. */
  const clear = async (paths: readonly string[]) => {
    const left = pagesIn(folders, paths).toSorted((a, b) => b.length - a.length);
    for (const folder of left) await vaultApi.removeFolder(folder).catch(() => undefined);
    if (left.length) await onChanged();
  };
  const into = async (paths: readonly string[], folder: string) => {
    const moves = movesInto(pages, paths, folder);
    try {
      if (!moves.length) await vaultApi.makeFolder([folder, nameOf(paths[0] ?? "")].join("/"));
      await actions.moveAll(moves, folder || t("the top"));
      await clear(paths);
    } catch (error) {
      toasts.fault(error);
    }
  };
  const rename = async ({ path, isFolder }: TreeNode, name: string) => {
    const wanted = name.trim().replaceAll("/", " ");
    const folder = folderOf(path);
    const to = [folder, wanted].filter(Boolean).join("/");
    if (!wanted || to === path || `${to}.md` === path) return;
    try {
      if (!isFolder) await actions.move(path, /\.md$/i.test(to) ? to : `${to}.md`);
      else {
        const moves = pagesIn(pages, [path]).map((page) => ({
          path: page,
          to: `${to}${page.slice(path.length)}`,
        }));
        if (!moves.length) await vaultApi.makeFolder(to);
        await actions.moveAll(moves, to);
        await clear([path]);
      }
    } catch (error) {
      toasts.fault(error);
    }
  };
  const remove = (paths: readonly string[]) => {
    const wanted = pagesIn(pages, paths);
    void actions.removeAll(wanted).then(() => clear(paths), toasts.fault);
  };
  const makeFolder = async (path: string) => {
    await vaultApi.makeFolder(path);
    await onChanged();
  };
  return { asked, ask: setAsked, into, rename, remove, makeFolder };
}

export type TreeActions = ReturnType<typeof useTreeActions>;
