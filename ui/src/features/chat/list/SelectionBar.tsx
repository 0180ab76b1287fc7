import { Archive, ArchiveRestore, FolderInput, Pin, Trash2, X } from "lucide-react";
import { useState } from "react";
import type { Project } from "../../../api/projects";
import { t } from "../../../i18n";
import { IconButton } from "../../../kit/Button";
import { Confirm } from "../../../kit/Dialog";
import { Menu } from "../../../kit/Popover";
import type { Place } from "../../../services/conversations";
import { useConversationActions } from "../useConversationActions";
import styles from "./list.module.css";
import { projectsOf } from "./rows";
import type { Selection } from "./useSelection";

type SelectionBarProps = {
  selection: Selection;
  place: Place;
  projects: readonly Project[];
};

/** What can be done with all that are chosen. */
export function SelectionBar({ selection, place, projects }: SelectionBarProps) {
  const { chosen, clear } = selection;
  const actions = useConversationActions();
  const [asking, setAsking] = useState(false);
  const ids = chosen.map(({ id }) => id);
  const count = ids.length;
  const then = (act: Promise<void>) => void act.then(clear);
  const arePinned = chosen.every(({ pinned }) => pinned);
  const moves = [
    { label: t("No project"), run: () => then(actions.moveAll(ids, null)) },
    ...projectsOf(projects, chosen).map(({ id, name }) => ({
      label: name,
      run: () => then(actions.moveAll(ids, id)),
    })),
  ];
  return (
    <div className={styles.bar} role="toolbar" aria-label={t("Selected conversations")}>
      <strong role="status">{t("{count} selected", { count })}</strong>
      <span className="gap" />
      {place === "list" && (
        <>
          <Menu icon={FolderInput} label={t("Move to a project")} items={moves} />
          <IconButton
            icon={Pin}
            label={arePinned ? t("Unpin") : t("Pin")}
            onClick={() => then(actions.pinAll(ids, !arePinned))}
          />
          <IconButton
            icon={Archive}
            label={t("Archive")}
            onClick={() => then(actions.archiveAll(ids, true))}
          />
        </>
      )}
      {place !== "list" && (
        <IconButton
          icon={ArchiveRestore}
          label={t("Restore")}
          onClick={() =>
            then(place === "trash" ? actions.trashAll(ids, false) : actions.archiveAll(ids, false))
          }
        />
      )}
      <IconButton
        icon={Trash2}
        label={place === "trash" ? t("Delete for good") : t("Delete")}
        onClick={() => (place === "trash" ? setAsking(true) : then(actions.trashAll(ids, true)))}
      />
      <IconButton icon={X} label={t("Cancel")} onClick={clear} />
      {asking && (
        <Confirm
          title={t(
            "Delete {count, plural, one {# conversation} other {# conversations}} for good?",
            {
              count,
            },
          )}
          action={t("Delete for good")}
          onConfirm={() => then(actions.removeAll(ids))}
          onClose={() => setAsking(false)}
        >
          <ul>
            {chosen.slice(0, 10).map(({ id, title }) => (
              <li key={id}>{title}</li>
            ))}
          </ul>
          {count > 10 && <p>{t("and {count} more", { count: count - 10 })}</p>}
        </Confirm>
      )}
    </div>
  );
}
