import { ChevronRight, Ellipsis, Folder, Library, Pencil, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import type { Project } from "../../../api/projects";
import { t } from "../../../i18n";
import { Confirm } from "../../../kit/Dialog";
import { Menu } from "../../../kit/Popover";
import { useApp } from "../../../services/context";
import styles from "./list.module.css";

type ProjectRowProps = {
  project: Project;
  open: boolean;
  /** Something is being carried over it. */
  over: boolean;
  onToggle: () => void;
  onEdit: () => void;
};

export function ProjectRow({ project, open, over, onToggle, onEdit }: ProjectRowProps) {
  const { conversations, sessions, router, toasts } = useApp();
  const [asking, setAsking] = useState(false);
  const begin = () => {
    sessions.of(null).beginIn(project.id);
    router.go("/");
  };
  const remove = () => conversations.removeProject(project.id).catch(toasts.fault);
  const names = project.collections.map(({ name }) => name).join(", ");
  return (
    <div className={`${styles.project} ${over ? styles.over : ""}`} data-project={project.id}>
      <button type="button" aria-expanded={open} onClick={onToggle}>
        <ChevronRight size={14} aria-hidden />
        <Folder size={15} aria-hidden />
        <span className={styles.names}>
          <span className="clip">{project.name}</span>
          {open && names && (
            <small title={t("Documents: {names}", { names })}>
              <Library size={12} aria-hidden />
              <span className="visually-hidden">{t("Documents: {names}", { names })}</span>
              <span className="clip" aria-hidden>
                {names}
              </span>
            </small>
          )}
        </span>
      </button>
      <Menu
        icon={Ellipsis}
        label={t("More for project {name}", { name: project.name })}
        items={[
          { label: t("New chat in this project"), icon: Plus, run: begin },
          { label: t("Edit project"), icon: Pencil, run: onEdit },
          { label: t("Remove project"), icon: Trash2, fault: true, run: () => setAsking(true) },
        ]}
      />
      {asking && (
        <Confirm
          title={t("Remove this project?")}
          action={t("Remove")}
          look="fault"
          onConfirm={() => void remove()}
          onClose={() => setAsking(false)}
        >
          <p>
            {t("“{name}” and its instructions go. Its conversations stay, in no project.", {
              name: project.name,
            })}
          </p>
        </Confirm>
      )}
    </div>
  );
}
