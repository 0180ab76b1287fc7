import {
  Ellipsis,
  Eraser,
  FolderSync,
  Library,
  MessageSquareText,
  Pencil,
  Plus,
  Users,
  Waypoints,
} from "lucide-react";
import { useState } from "react";
import type { Collection, LibraryStatus } from "../../api/documents";
import { locale, t } from "../../i18n";
import { IconButton } from "../../kit/Button";
import { Menu } from "../../kit/Popover";
import { Link } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { addressOfDocuments, addressOfNode } from "../../services/router";
import { type AskedCollection, CollectionDialogs } from "./CollectionDialogs";
import styles from "./Documents.module.css";
import { useAsk } from "./useAsk";
import { roomOf } from "./words";

type NavProps = {
  collections: readonly Collection[];
  status: LibraryStatus | null;
  current: string | null;
  /** What is shown in place of documents. */
  view?: "folders" | "graph";
  /** A place was chosen, though it may be the one that is shown. */
  onChosen: () => void;
};

/** How much there is, and what is at work. */
function Status({ status }: { status: LibraryStatus }) {
  const busy = status.waiting + status.reading + status.indexing;
  const { ready, failed, bytes, quota_bytes: quota, without_vector: wordsOnly } = status;
  return (
    <div className={styles.status}>
      <p>
        {[
          t("{count, plural, one {# document} other {# documents}} ready", { count: ready }),
          busy > 0 && t("{count} to be read", { count: busy.toLocaleString(locale()) }),
          failed > 0 && t("{count} failed", { count: failed.toLocaleString(locale()) }),
        ]
          .filter(Boolean)
          .join(", ")}
      </p>
      {quota ? (
        <>
          <p>
            {t("{roomof} of {roomof2} used", { roomof: roomOf(bytes), roomof2: roomOf(quota) })}
          </p>
          <meter min={0} max={quota} high={quota * 0.9} value={bytes} aria-label={t("Room used")} />
        </>
      ) : (
        <p>{t("{roomof} used", { roomof: roomOf(bytes) })}</p>
      )}
      {wordsOnly > 0 && (
        <p>
          {t("{count} found by words only so far", {
            count: t("{count, plural, one {# passage} other {# passages}}", { count: wordsOnly }),
          })}
        </p>
      )}
    </div>
  );
}

function CollectionItem(props: {
  collection: Collection;
  current: boolean;
  onAsk: (what: AskedCollection["what"]) => void;
}) {
  const { collection, current, onAsk } = props;
  const { router } = useApp();
  const chat = useAsk();
  const { id, name, documents, owner, shares } = collection;
  const ask = {
    label: t("Ask about it"),
    icon: MessageSquareText,
    run: () => chat([{ kind: "collection", id, name }]),
  };
  const graph = {
    label: t("Graph"),
    icon: Waypoints,
    run: () => router.go(addressOfNode({ collection: id })),
  };
  const changes = [
    { label: t("Rename"), icon: Pencil, run: () => onAsk("rename") },
    { label: t("Share"), icon: Users, run: () => onAsk("share") },
    { label: t("Remove"), icon: Eraser, run: () => onAsk("remove"), fault: true },
  ];
  return (
    <li>
      <Link to={addressOfDocuments(id)} aria-current={current ? "page" : undefined}>
        <Library size={16} strokeWidth={1.75} aria-hidden />
        <span className="clip">
          {name}
          {owner && <small>{t("from {owner}", { owner })}</small>}
        </span>
        {shares.length > 0 && (
          <>
            <Users size={13} aria-hidden />
            <span className="visually-hidden">{t(", shared")}</span>
          </>
        )}
        <span className={styles.many}>
          <span className="visually-hidden">, </span>
          {documents.toLocaleString()}
          <span className="visually-hidden"> {t("documents")}</span>
        </span>
      </Link>
      <Menu
        icon={Ellipsis}
        size={16}
        label={t("More for {name}", { name })}
        items={owner ? [ask] : [ask, graph, ...changes]}
      />
    </li>
  );
}

export function CollectionNav({ collections, status, current, view, onChosen }: NavProps) {
  const [asked, setAsked] = useState<AskedCollection | null>(null);
  const all = current === null && !view;
  return (
    <nav className={styles.nav} aria-label={t("Library")}>
      <h1>{t("Documents")}</h1>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: hears the links inside, which take the keys */}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the same */}
      <div
        className={`${styles.navList} scroll`}
        onClick={(event) => (event.target as Element).closest("a") && onChosen()}
      >
        <ul>
          <li>
            <Link to="/documents" aria-current={all ? "page" : undefined}>
              <Library size={16} strokeWidth={1.75} aria-hidden />
              <span className="clip">{t("All documents")}</span>
            </Link>
          </li>
          <li>
            <Link to="/documents/folders" aria-current={view === "folders" ? "page" : undefined}>
              <FolderSync size={16} strokeWidth={1.75} aria-hidden />
              <span className="clip">{t("Watched folders")}</span>
            </Link>
          </li>
          <li>
            <Link to={addressOfNode()} aria-current={view === "graph" ? "page" : undefined}>
              <Waypoints size={16} strokeWidth={1.75} aria-hidden />
              <span className="clip">{t("Graph")}</span>
            </Link>
          </li>
        </ul>
        <header>
          <h2>{t("Collections")}</h2>
          <IconButton
            icon={Plus}
            size={16}
            label={t("New collection")}
            onClick={() => setAsked({ what: "new" })}
          />
        </header>
        {collections.length ? (
          <ul aria-label={t("Collections")}>
            {collections.map((collection) => (
              <CollectionItem
                key={collection.id}
                collection={collection}
                current={collection.id === current}
                onAsk={(what) => setAsked({ what, of: collection } as AskedCollection)}
              />
            ))}
          </ul>
        ) : (
          <p className={styles.none}>
            {t("Collections keep documents together that you ask about together.")}
          </p>
        )}
      </div>
      {status && <Status status={status} />}
      <CollectionDialogs asked={asked} current={current} onClose={() => setAsked(null)} />
    </nav>
  );
}
