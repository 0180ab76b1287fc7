import { ChevronRight, FileText, Folder, FolderOpen, TriangleAlert } from "lucide-react";
import type { CSSProperties, MouseEvent } from "react";
import { t } from "../../i18n";
import type { VaultItem } from "./Tree";
import styles from "./Tree.module.css";

const INDENT_PX = 14;

type RowProps = {
  item: VaultItem;
  place: CSSProperties;
  isCurrent: boolean;
  onOpen: (path: string) => void;
  onMenu: (event: MouseEvent<HTMLElement>, item: VaultItem) => void;
};

export function TreeRow({ item, place, isCurrent, onOpen, onMenu }: RowProps) {
  const { path, name, isFolder, problem } = item.getItemData();
  const { onClick, ...props } = item.getProps();
  const level = item.getItemMeta().level;
  const Icon = isFolder ? (item.isExpanded() ? FolderOpen : Folder) : FileText;
  const looks = [
    styles.row,
    isCurrent ? styles.current : "",
    item.isDragTarget() ? styles.target : "",
  ];
  const skipped = problem ? t("skipped: {problem}", { problem }) : "";
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree takes the keys
    <div
      {...props}
      role="treeitem"
      tabIndex={item.isFocused() ? 0 : -1}
      aria-label={problem ? `${name} ${skipped}` : name}
      className={looks.join(" ")}
      title={problem ? `${path}: ${problem}` : path}
      style={{ ...place, paddingInlineStart: 8 + level * INDENT_PX }}
      onFocus={(event) => event.target === event.currentTarget && item.setFocused()}
      onClick={(event: MouseEvent<HTMLElement>) => {
        if (event.target instanceof HTMLInputElement) return;
        onClick(event);
        if (event.ctrlKey || event.metaKey || event.shiftKey || isFolder) return;
        onOpen(path);
      }}
      onContextMenu={(event: MouseEvent<HTMLElement>) => onMenu(event, item)}
    >
      {isFolder ? <ChevronRight size={14} aria-hidden className={styles.fold} /> : <i />}
      <Icon size={15} strokeWidth={1.75} aria-hidden />
      {item.isRenaming() ? (
        <input {...item.getRenameInputProps()} className="input" aria-label={t("Name")} />
      ) : (
        <span className="clip">{name}</span>
      )}
      {problem && (
        <span className={styles.trouble}>
          <TriangleAlert size={14} aria-hidden />
        </span>
      )}
    </div>
  );
}
