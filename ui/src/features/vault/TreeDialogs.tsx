import { vaultApi } from "../../api/vault";
import { t } from "../../i18n";
import type { Notes } from "./following";
import { templatesIn } from "./notes";
import { PathDialog } from "./PathDialog";
import { folderOf, titleOf } from "./treeRows";
import type { PageActions } from "./usePageActions";
import type { Asked, TreeActions } from "./useTreeActions";
import type { Pages } from "./wikilinks";

type DialogsProps = {
  asked: Asked;
  tree: TreeActions;
  actions: PageActions;
  pages: Pages;
  notes: Notes;
};

/** Asks for the path of what is made or moved. */
export function TreeDialogs({ asked, tree, actions, pages, notes }: DialogsProps) {
  const close = () => tree.ask(null);
  const below = (folder: string) => (folder ? `${folder}/` : "");
  if (asked.kind === "page") {
    return (
      <PathDialog
        title={t("New page")}
        label={t("Name, or path with folders")}
        action={t("Create")}
        value={below(asked.folder)}
        hint={t("For example trips/Lisbon. A slash makes a folder.")}
        templates={templatesIn(pages.paths, notes)}
        onDone={async (path, template) => {
          const text = template ? (await vaultApi.page(template)).text : null;
          await actions.create(path, text);
          close();
        }}
        onClose={close}
      />
    );
  }
  if (asked.kind === "folder") {
    return (
      <PathDialog
        title={t("New folder")}
        label={t("Path of the folder")}
        action={t("Create")}
        value={below(asked.folder)}
        hint={t("A slash makes a folder within another.")}
        isFolder
        onDone={async (path) => {
          await tree.makeFolder(path);
          close();
        }}
        onClose={close}
      />
    );
  }
  const { paths } = asked;
  const [first = ""] = paths;
  return (
    <PathDialog
      title={
        paths.length > 1
          ? t("Move {count} pages", { count: paths.length })
          : t("Move {page}", { page: titleOf(first) })
      }
      label={t("Into the folder")}
      action={t("Move")}
      value={folderOf(first)}
      hint={t("Empty is the top of the vault. Links to what is moved are updated.")}
      isFolder
      mayBeEmpty
      onDone={async (folder) => {
        await tree.into(paths, folder);
        close();
      }}
      onClose={close}
    />
  );
}
