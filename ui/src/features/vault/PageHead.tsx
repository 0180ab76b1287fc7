import { ArrowLeft, Columns2, Ellipsis, Eye, FolderInput, Pencil, Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Menu } from "../../kit/Popover";
import { Link, PHONE, Segmented, useMedia } from "../../kit/pieces";
import { type Draft, isUnsaved } from "./draft";
import { PathDialog } from "./PathDialog";
import { folderOf, titleOf } from "./treeRows";
import type { PageActions } from "./usePageActions";

export type Mode = "write" | "read" | "both";

const modes = [
  { value: "write", label: "Write", icon: Pencil },
  { value: "both", label: "Both", icon: Columns2 },
  { value: "read", label: "Read", icon: Eye },
] as const;

function savedState(draft: Draft): string {
  if (draft.theirs) return "Not saved: changed elsewhere";
  if (draft.saving) return "Saving";
  if (draft.problem) return "Not saved";
  return isUnsaved(draft) ? "Unsaved" : "Saved";
}

type HeadProps = {
  path: string;
  draft?: Draft;
  mode?: Mode;
  onMode?: (mode: Mode) => void;
  actions?: PageActions;
  /** Has what was typed be saved first. */
  saveAll?: () => Promise<void>;
  children?: ReactNode;
};

/** Where one is, whether it is saved, and what can be done with the page. */
export function PageHead(props: HeadProps) {
  const { path, draft, mode, onMode, actions, saveAll, children } = props;
  const phone = useMedia(PHONE);
  const [moving, setMoving] = useState(false);
  const state = draft && savedState(draft);
  const folder = folderOf(path);
  return (
    <header className="vault-head">
      {phone && (
        <Link to="/vault" className="icon-button" aria-label="All pages">
          <ArrowLeft size={18} aria-hidden />
        </Link>
      )}
      <div className="vault-title">
        {folder && <p className="clip">{folder.replaceAll("/", " / ")}</p>}
        <h1 className="clip" title={path}>
          {titleOf(path)}
        </h1>
      </div>
      {state && (
        <span className={`saved ${state === "Saved" ? "" : "un"}`} role="status">
          {state}
        </span>
      )}
      {mode && onMode && (
        <Segmented
          label="Write or read"
          value={mode}
          options={phone ? modes.filter(({ value }) => value !== "both") : modes}
          onChange={onMode}
        />
      )}
      {children}
      {actions && (
        <Menu
          icon={Ellipsis}
          label={`More for ${titleOf(path)}`}
          items={[
            { label: "Rename or move", icon: FolderInput, run: () => setMoving(true) },
            {
              label: "Delete",
              icon: Trash2,
              run: () => void actions.remove(path, saveAll),
              fault: true,
            },
          ]}
        />
      )}
      {moving && actions && (
        <PathDialog
          title="Rename or move"
          label="Path in the vault"
          action="Move"
          value={path}
          hint="A slash makes a folder. Links to this page are updated."
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
