import { Check, FolderInput, Trash2, X } from "lucide-react";
import type { Task } from "../../api/tasks";
import { t } from "../../i18n";
import { Button, IconButton } from "../../kit/Button";
import { Menu } from "../../kit/Popover";
import { statuses } from "../../planner/taskWords";
import type { TaskChanges } from "../../planner/useTaskChanges";
import styles from "./Tasks.module.css";
import type { Selected } from "./useSelection";

type SelectionProps = { all: readonly Task[]; selection: Selected; changes: TaskChanges };

/** What can be done with the tasks that are chosen. */
export function Selection({ all, selection, changes }: SelectionProps) {
  const chosen = all.filter(({ id }) => selection.ids.has(id));
  if (!chosen.length) return null;
  const act = async (work: Promise<boolean>) => void ((await work) && selection.clear());
  return (
    <div className={styles.bulk}>
      <span role="status">{t("{count} selected", { count: chosen.length })}</span>
      <Button look="quiet" icon={Check} onClick={() => void act(changes.toStatus(chosen, "done"))}>
        {t("Done")}
      </Button>
      <Menu
        icon={FolderInput}
        label={t("Move the selected to")}
        items={statuses.map(({ status, label }) => ({
          label,
          run: () => void act(changes.toStatus(chosen, status)),
        }))}
      />
      <Button look="quiet" icon={Trash2} onClick={() => void act(changes.remove(chosen))}>
        {t("Delete")}
      </Button>
      <Button look="quiet" onClick={() => selection.set(new Set(all.map(({ id }) => id)))}>
        {t("Select all")}
      </Button>
      <IconButton icon={X} size={16} label={t("Select none")} onClick={selection.clear} />
    </div>
  );
}
