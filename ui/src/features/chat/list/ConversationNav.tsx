import {
  Archive,
  CircleHelp,
  FolderPlus,
  MessageSquareText,
  Plus,
  Search,
  Trash2,
} from "lucide-react";
import { lazy, memo, Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Project } from "../../../api/projects";
import { t } from "../../../i18n";
import { Button, IconButton } from "../../../kit/Button";
import { Keys, Link, ProblemNotice, Skeleton } from "../../../kit/pieces";
import { useApp } from "../../../services/context";
import type { Place } from "../../../services/conversations";
import { remember, remembered, useStore } from "../../../services/store";
import { useReturn } from "../../../services/useReturn";
import { useConversationActions } from "../useConversationActions";
import styles from "./list.module.css";
import { PlaceHead } from "./PlaceHead";
import { RowList } from "./RowList";
import { byDay, listed } from "./rows";
import { SelectionBar } from "./SelectionBar";
import { useSelection } from "./useSelection";

const ProjectDialog = lazy(() => import("./ProjectDialog"));
const OPEN = "bethink.projects";

/** Which projects show their conversations, kept on this device. */
function useOpenProjects() {
  const { conversations } = useApp();
  const [open, setOpen] = useState(
    () => new Set(remembered<{ ids: string[] }>(OPEN, { ids: [] }).ids),
  );
  useEffect(() => {
    for (const id of open) void conversations.readProject(id);
  }, [open, conversations]);
  const toggle = useCallback((id: string) => {
    setOpen((before) => {
      const next = new Set(before);
      if (!next.delete(id)) next.add(id);
      remember(OPEN, { ids: [...next] });
      return next;
    });
  }, []);
  return { open, toggle };
}

type NavProps = { current: string | null };

/** It is drawn for itself alone: the room beside it is drawn anew in each frame of an answer. */
export const ConversationNav = memo(function ConversationNav({ current }: NavProps) {
  const { conversations } = useApp();
  const { items, projects, place, ...list } = useStore(conversations.store);
  const [onlyNeeding, setOnlyNeeding] = useState(false);
  const [editing, setEditing] = useState<Project | "new" | null>(null);
  const { open, toggle } = useOpenProjects();
  const { setArchived } = useConversationActions();
  const needing = useMemo(() => items.filter((item) => item.needs_you), [items]);
  const narrowed = onlyNeeding && needing.length > 0;
  const rows = useMemo(() => {
    const now = Date.now();
    if (narrowed) return byDay(needing, now);
    return place === "list" ? listed(items, projects, open, now) : byDay(items, now);
  }, [items, projects, open, place, narrowed, needing]);
  const selection = useSelection(rows);
  useReturn(conversations.refresh);
  useEffect(() => {
    void conversations.refresh();
    void conversations.refreshFirst();
  }, [conversations]);
  const { problem, loaded, loading, cursor, total } = list;
  return (
    <nav className={`${styles.nav} print-hidden`} aria-label={t("Conversations")}>
      {selection.chosen.length ? (
        <SelectionBar selection={selection} place={place} projects={projects} />
      ) : (
        <NavHead onProject={() => setEditing("new")} />
      )}
      {place !== "list" && <PlaceHead place={place} total={loaded ? total : null} />}
      {place === "list" && needing.length > 0 && (
        <button
          type="button"
          className={styles.needing}
          aria-pressed={narrowed}
          onClick={() => setOnlyNeeding(!narrowed)}
        >
          <CircleHelp size={16} aria-hidden />
          {t("{count, plural, one {# needs you} other {# need you}}", { count: needing.length })}
        </button>
      )}
      {problem && !items.length && (
        <ProblemNotice problem={problem} onRetry={() => void conversations.refresh()} />
      )}
      <RowList
        rows={rows}
        current={current}
        place={place}
        selection={selection}
        onProject={toggle}
        onEditProject={setEditing}
        onArchive={(id) => void setArchived(id, place !== "archive")}
        onEnd={cursor && !problem && !loading ? conversations.more : undefined}
      >
        {!loaded && !problem && <Skeleton lines={6} label={t("Loading your conversations")} />}
        {loaded && !rows.length && (
          <p className={styles.none}>
            <MessageSquareText size={18} aria-hidden />
            {emptyIn(place)}
          </p>
        )}
      </RowList>
      {problem && items.length > 0 && (
        <ProblemNotice problem={problem} onRetry={() => void conversations.more()} />
      )}
      {place === "list" && (
        <div className={styles.foot}>
          <Button look="quiet" icon={Archive} onClick={() => conversations.show("archive")}>
            {t("Archived")}
          </Button>
          <Button look="quiet" icon={Trash2} onClick={() => conversations.show("trash")}>
            {t("Trash")}
          </Button>
        </div>
      )}
      {editing && (
        <Suspense fallback={null}>
          <ProjectDialog
            project={editing === "new" ? null : editing}
            onClose={() => setEditing(null)}
          />
        </Suspense>
      )}
    </nav>
  );
});

function emptyIn(place: Place): string {
  if (place === "archive") return t("No archived conversations.");
  return place === "trash" ? t("The trash is empty.") : t("Your conversations are listed here.");
}

function NavHead({ onProject }: { onProject: () => void }) {
  const { keys } = useApp();
  const search = useRef(() => keys.run("palette"));
  return (
    <div className={styles.head}>
      <button type="button" className={`input ${styles.find}`} onClick={search.current}>
        <Search size={16} aria-hidden />
        <span>{t("Search")}</span>
        <Keys combo="mod+k" />
      </button>
      <div className={styles.making}>
        <Link className={`button ${styles.start}`} to="/">
          <Plus size={16} aria-hidden />
          <span>{t("New chat")}</span>
          <Keys combo="mod+shift+o" />
        </Link>
        <IconButton icon={FolderPlus} label={t("New project")} onClick={onProject} />
      </div>
    </div>
  );
}
