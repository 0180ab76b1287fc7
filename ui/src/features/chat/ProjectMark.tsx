import { Folder, Library } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { t } from "../../i18n";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";
import { projectsOf } from "./list/rows";
import styles from "./ProjectMark.module.css";

const ProjectDialog = lazy(() => import("./list/ProjectDialog"));

/** To which project a conversation belongs, and in which collections it looks for documents. */
export function ProjectMark({ id }: { id: string }) {
  const { conversations } = useApp();
  const { projects } = useStore(conversations.store);
  const [editing, setEditing] = useState(false);
  const [project] = projectsOf(
    projects.filter((each) => each.id === id),
    [{ project: id }],
  );
  if (!project) return null;
  const names = project.collections.map(({ name }) => name);
  const documents = names.length ? t("Documents: {names}", { names: names.join(", ") }) : "";
  return (
    <>
      <button
        type="button"
        className={`chip ${styles.mark}`}
        title={[t("Edit project"), documents].filter(Boolean).join(" · ")}
        onClick={() => setEditing(true)}
      >
        <Folder size={14} aria-hidden />
        <span className="visually-hidden">{t("Project")}: </span>
        <span className="clip">{project.name}</span>
        {names.length > 0 && (
          <span className={styles.documents}>
            <Library size={14} aria-hidden />
            <span className="visually-hidden">{documents}</span>
            <span className="clip" aria-hidden>
              {names.length > 1 ? names.length : names[0]}
            </span>
          </span>
        )}
      </button>
      {editing && (
        <Suspense fallback={null}>
          <ProjectDialog project={project} onClose={() => setEditing(false)} />
        </Suspense>
      )}
    </>
  );
}
