import { Columns2, Ellipsis, Eye, FolderInput, Pencil, Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { t } from "../../i18n";
import { ListButton } from "../../kit/Panes";
import { Menu, type MenuItem } from "../../kit/Popover";
import { Segmented, useMedia } from "../../kit/pieces";
import { type Draft, isUnsaved } from "./draft";
import styles from "./Page.module.css";
import { PathDialog } from "./PathDialog";
import { folderOf, titleOf } from "./treeRows";
import type { PageActions } from "./usePageActions";

export type Mode = "write" | "read" | "both";

const modes = () =>
  [
    { value: "write", label: t("Write"), icon: Pencil },
    { value: "both", label: t("Both"), icon: Columns2 },
    { value: "read", label: t("Read"), icon: Eye },
  ] as const;

function savedState(draft: Draft): string {
  if (draft.theirs) return t("Not saved: changed elsewhere");
  if (draft.saving) return t("Saving");
  if (draft.problem) return t("Not saved");
  return isUnsaved(draft) ? t("Unsaved") : t("Saved");
}

const COMPACT = "(max-width: 1000px)";

type HeadProps = {
  path: string;
  draft?: Draft;
  mode?: Mode;
  onMode?: (mode: Mode) => void;
  actions?: PageActions;
  /** What else can be done, above moving and deleting. */
  more?: readonly MenuItem[];
  /** Has what was typed be saved first. */
  saveAll?: () => Promise<void>;
  children?: ReactNode;
};

/** Where one is, whether it is saved, and what can be done with the page. */
export function PageHead(props: HeadProps) {
  const { path, draft, mode, onMode, actions, more = [], saveAll, children } = props;
  const compact = useMedia(COMPACT);
  const [moving, setMoving] = useState(false);
  const state = draft && savedState(draft);
  const folder = folderOf(path);
  return (
    <header className={styles.head}>
      <ListButton />
      <div className={styles.title}>
        {folder && <p className="clip">{folder.replaceAll("/", " / ")}</p>}
        <h1 className="clip" title={path}>
          <span dir="auto">{titleOf(path)}</span>
        </h1>
      </div>
      {state && (
        <span
          className={`${styles.saved} ${draft && isUnsaved(draft) ? styles.unsaved : ""}`}
          role="status"
        >
          {state}
        </span>
      )}
      {mode && onMode && (
        <Segmented
          label={t("Write or read")}
          value={mode}
          options={modes().filter(({ value }) => value !== "both" || !compact)}
          onChange={onMode}
        />
      )}
      {children}
      {actions && (
        <Menu
          icon={Ellipsis}
          label={t("More for {page}", { page: titleOf(path) })}
          items={[
            ...more,
            { label: t("Rename or move"), icon: FolderInput, run: () => setMoving(true) },
            {
              label: t("Delete"),
              icon: Trash2,
              run: () => void actions.remove(path, saveAll),
              fault: true,
            },
          ]}
        />
      )}
      {moving && actions && (
        <PathDialog
          title={t("Rename or move")}
          label={t("Path in the vault")}
          action={t("Move")}
          value={path}
          hint={t("A slash makes a folder. Links to this page are updated.")}
          onDone={async (to) => {
            await saveAll?.();
            if (to !== path) await actions.move(path, to);
            setMoving(false);
          }}
          onClose={() => setMoving(false)}
        />
      )}
    </header>
  );
}
