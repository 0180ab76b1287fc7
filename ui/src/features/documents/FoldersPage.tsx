import {
  Eye,
  FolderPlus,
  FolderSync,
  Pause,
  Play,
  RotateCw,
  Trash2,
  TriangleAlert,
} from "lucide-react";
import { useState } from "react";
import { documentsApi, type Folder } from "../../api/documents";
import { locale, t, told } from "../../i18n";
import { Button, IconButton } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { PageHead } from "../../kit/PageHead";
import { Empty, ProblemNotice, Skeleton } from "../../kit/pieces";
import { SelectField } from "../../kit/Select";
import { useApp } from "../../services/context";
import { useNews } from "../../services/news";
import { useStore } from "../../services/store";
import { useRead } from "../../services/useRead";
import { useAgain } from "../../services/useReturn";
import { shortDate } from "../../services/words";
import styles from "./Documents.module.css";
import { FieldDialog } from "./FieldDialog";
import { Frame } from "./Frame";
import { useCollections } from "./useCollections";
import { placesIn } from "./words";

const LOOK_MS = 5000;
const states: Record<Folder["state"], string> = {
  watching: t("Watched"),
  missing: t("The folder is not there"),
  paused: t("Paused"),
};

const ask = (signal: AbortSignal) => documentsApi.folders(signal);

type RowProps = { folder: Folder; onSync: () => void; onPause: () => void; onRemove: () => void };

function FolderRow({ folder, onSync, onPause, onRemove }: RowProps) {
  const { path, files, failed, state, note, collection, synced_at: synced } = folder;
  const isFine = state === "watching";
  const Icon = isFine ? Eye : TriangleAlert;
  return (
    <li className={styles.folder}>
      <div>
        <p className={styles.path}>{path}</p>
        <p className={styles.meta}>
          <span className={isFine ? "" : styles.doubt}>
            <Icon size={13} aria-hidden /> {states[state]}
          </span>
          <span>{t("{count, plural, one {# file} other {# files}}", { count: files })}</span>
          {failed > 0 && (
            <span className={styles.doubt}>
              {t("{count} failed", { count: failed.toLocaleString(locale()) })}
            </span>
          )}
          {folder.extensions.length > 0 && <span>{folder.extensions.join(", ")}</span>}
          {collection && <span>{t("into {name}", { name: collection.name })}</span>}
          {synced && (
            <span>{t("looked through {date}", { date: shortDate(Date.parse(synced)) })}</span>
          )}
        </p>
        {note && <p className={styles.note}>{told(note)}</p>}
      </div>
      <IconButton
        icon={RotateCw}
        size={16}
        label={t("Look through {path} now", { path })}
        onClick={onSync}
      />
      <IconButton
        icon={state === "paused" ? Play : Pause}
        size={16}
        label={`${state === "paused" ? t("Watch again") : t("Pause")}: ${path}`}
        onClick={onPause}
      />
      <IconButton
        icon={Trash2}
        size={16}
        label={t("Stop watching {path}", { path })}
        onClick={onRemove}
      />
    </li>
  );
}

/** Folders of the server's machine whose files are documents. */
export function FoldersPage() {
  const { account, documentNews, toasts } = useApp();
  const session = useStore(account.session);
  const mayAdd = !session?.user || session.rights.includes("admin");
  const library = useCollections();
  const { collections, status } = library;
  const { value, problem, read, look } = useRead(ask);
  useNews(documentNews, look);
  useAgain(Boolean(value?.items.length), LOOK_MS, look);
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<Folder | null>(null);
  const attempt = async (work: () => Promise<unknown>) => {
    try {
      await work();
    } catch (error) {
      toasts.fault(error);
    }
    await documentNews.tell();
  };
  return (
    <Frame library={library} view="folders">
      <PageHead title={t("Watched folders")}>
        {mayAdd && (
          <Button data-fold look="primary" icon={FolderPlus} onClick={() => setAdding(true)}>
            {t("Watch a folder")}
          </Button>
        )}
      </PageHead>
      <div className="page scroll">
        <div className="page-inner">
          {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
          {!value && !problem && <Skeleton lines={4} label={t("Loading folders")} />}
          {value?.items.length === 0 && (
            <Empty icon={FolderSync} title={t("No folder is watched")}>
              <p>
                {t(
                  "The files of a watched folder become documents by themselves: new and changed ones are read within seconds, and deleted ones go. The folder is on the machine that Bethink runs on.",
                )}{" "}
                {!mayAdd && t("An administrator can add one.")}
              </p>
            </Empty>
          )}
          <ul aria-label={t("Watched folders")}>
            {value?.items.map((folder) => (
              <FolderRow
                key={folder.id}
                folder={folder}
                onSync={() => void attempt(() => documentsApi.syncFolder(folder.id))}
                onPause={() =>
                  void attempt(() => documentsApi.pauseFolder(folder.id, folder.state !== "paused"))
                }
                onRemove={() => setRemoving(folder)}
              />
            ))}
          </ul>
          {status?.reader && (
            <p className={`${styles.note} ${styles.reader}`}>{told(status.reader)}</p>
          )}
        </div>
      </div>
      {adding && <AddFolder collections={collections} onClose={() => setAdding(false)} />}
      {removing && <RemoveFolder folder={removing} onClose={() => setRemoving(null)} />}
    </Frame>
  );
}

type AddProps = {
  collections: readonly { id: string; name: string; writes: boolean }[];
  onClose: () => void;
};

function AddFolder({ collections, onClose }: AddProps) {
  const { documentNews } = useApp();
  const [collection, setCollection] = useState("");
  const [endings, setEndings] = useState("");
  return (
    <FieldDialog
      title={t("Watch a folder")}
      label={t("Path on the machine that Bethink runs on")}
      action={t("Watch")}
      hint={t("For example /home/anna/Documents. Its subfolders are watched, too.")}
      onDone={async (path) => {
        const extensions = endings.split(/[\s,]+/).filter(Boolean);
        await documentsApi.addFolder({ path, extensions, ...(collection ? { collection } : {}) });
        await documentNews.tell();
      }}
      onClose={onClose}
    >
      <label className="field">
        {t("Only files with these endings; all that can be read if it is empty")}
        <input
          className="input"
          value={endings}
          placeholder={t(".pdf, .md")}
          spellCheck={false}
          autoCapitalize="none"
          onChange={(event) => setEndings(event.target.value)}
        />
      </label>
      <SelectField
        label={t("Collection")}
        value={collection}
        options={placesIn(collections)}
        onChange={setCollection}
      />
    </FieldDialog>
  );
}

function RemoveFolder({ folder, onClose }: { folder: Folder; onClose: () => void }) {
  const { documentNews, toasts } = useApp();
  const [withAll, setWithAll] = useState(false);
  const remove = async () => {
    onClose();
    try {
      await documentsApi.removeFolder(folder.id, withAll);
      toasts.show(t("{path} is no longer watched", { path: folder.path }));
    } catch (error) {
      toasts.fault(error);
    }
    await documentNews.tell();
  };
  return (
    <Dialog title={t("Stop watching the folder?")} onClose={onClose}>
      <div className="body">
        <p>
          {t(
            "Nothing in {path} is touched. Its {count} can stay in your library as they are now.",
            {
              path: folder.path,
              count: t("{count, plural, one {# document} other {# documents}}", {
                count: folder.files,
              }),
            },
          )}
        </p>
        <label className="check">
          <input
            type="checkbox"
            checked={withAll}
            onChange={(event) => setWithAll(event.target.checked)}
          />
          {t("Remove its documents from the library, too")}
        </label>
        <div className="actions">
          <Button data-first onClick={onClose}>
            {t("Keep watching")}
          </Button>
          <Button look="fault" onClick={() => void remove()}>
            {withAll ? t("Stop and remove") : t("Stop watching")}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
