import { FolderInput, Trash2, X } from "lucide-react";
import { t } from "../../i18n";
import { IconButton } from "../../kit/Button";
import type { VaultTree } from "./Tree";
import styles from "./Tree.module.css";
import type { TreeActions } from "./useTreeActions";

/** What can be done with several pages at once; there while several are chosen. */
export function Selected({ tree, actions }: { tree: VaultTree; actions: TreeActions }) {
  const { selectedItems: paths } = tree.getState();
  if (paths.length < 2) return null;
  return (
    <div className={styles.selected} role="toolbar" aria-label={t("Selected pages")}>
      <span role="status">{t("{count} selected", { count: paths.length })}</span>
      <IconButton
        icon={FolderInput}
        label={t("Move to…")}
        onClick={() => actions.ask({ kind: "move", paths })}
      />
      <IconButton icon={Trash2} label={t("Delete")} onClick={() => actions.remove(paths)} />
      <IconButton
        icon={X}
        label={t("Select nothing")}
        onClick={() => tree.setSelectedItems(paths.slice(0, 1))}
      />
    </div>
  );
}
