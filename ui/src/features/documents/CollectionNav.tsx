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
import { IconButton } from "../../kit/Button";
import { Menu } from "../../kit/Popover";
import { Link } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { addressOfDocuments, addressOfNode } from "../../services/router";
import { count } from "../../services/words";
import { type AskedCollection, CollectionDialogs } from "./CollectionDialogs";
import { useAsk } from "./useAsk";
import { roomOf } from "./words";

type NavProps = {
  collections: readonly Collection[];
  status: LibraryStatus | null;
  current: string | null;
  /** What is shown in place of documents. */
  view?: "folders" | "graph";
};

/** How much there is, and what is at work. */
function Status({ status }: { status: LibraryStatus }) {
  const busy = status.waiting + status.reading + status.indexing;
  const { ready, failed, bytes, quota_bytes: quota, without_vector: wordsOnly } = status;
  return (
    <div className="doc-status">
      <p>
        {count(ready, "document")} ready
        {busy > 0 && `, ${busy.toLocaleString()} to be read`}
        {failed > 0 && `, ${failed.toLocaleString()} failed`}
      </p>
      {quota ? (
        <>
          <p>
            {roomOf(bytes)} of {roomOf(quota)} used
          </p>
          <meter min={0} max={quota} high={quota * 0.9} value={bytes} aria-label="Room used" />
        </>
      ) : (
        <p>{roomOf(bytes)} used</p>
      )}
      {wordsOnly > 0 && <p>{count(wordsOnly, "passage")} found by words only so far</p>}
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
    label: "Ask about it",
    icon: MessageSquareText,
    run: () => chat([{ kind: "collection", id, name }]),
  };
  const graph = {
    label: "Graph",
    icon: Waypoints,
    run: () => router.go(addressOfNode({ collection: id })),
  };
  const changes = [
    { label: "Rename", icon: Pencil, run: () => onAsk("rename") },
    { label: "Share", icon: Users, run: () => onAsk("share") },
    { label: "Remove", icon: Eraser, run: () => onAsk("remove"), fault: true },
  ];
  return (
    <li>
      <Link to={addressOfDocuments(id)} aria-current={current ? "page" : undefined}>
        <Library size={16} strokeWidth={1.75} aria-hidden />
        <span className="clip">
          {name}
          {owner && <small> from {owner}</small>}
        </span>
        {shares.length > 0 && (
          <>
            <Users size={13} aria-hidden />
            <span className="visually-hidden">, shared</span>
          </>
        )}
        <span className="many">
          <span className="visually-hidden">, </span>
          {documents.toLocaleString()}
          <span className="visually-hidden"> documents</span>
        </span>
      </Link>
      <Menu
        icon={Ellipsis}
        size={16}
        label={`More for ${name}`}
        items={owner ? [ask] : [ask, graph, ...changes]}
      />
    </li>
  );
}

export function CollectionNav({ collections, status, current, view }: NavProps) {
  const [asked, setAsked] = useState<AskedCollection | null>(null);
  const all = current === null && !view;
  return (
    <nav className="doc-nav" aria-label="Collections">
      <div className="doc-nav-list scroll">
        <ul>
          <li>
            <Link to="/documents" aria-current={all ? "page" : undefined}>
              <Library size={16} strokeWidth={1.75} aria-hidden />
              <span className="clip">All documents</span>
            </Link>
          </li>
          <li>
            <Link to="/documents/folders" aria-current={view === "folders" ? "page" : undefined}>
              <FolderSync size={16} strokeWidth={1.75} aria-hidden />
              <span className="clip">Watched folders</span>
            </Link>
          </li>
          <li>
            <Link to={addressOfNode()} aria-current={view === "graph" ? "page" : undefined}>
              <Waypoints size={16} strokeWidth={1.75} aria-hidden />
              <span className="clip">Graph</span>
            </Link>
          </li>
        </ul>
        <header>
          <h2>Collections</h2>
          <IconButton
            icon={Plus}
            size={16}
            label="New collection"
            onClick={() => setAsked({ what: "new" })}
          />
        </header>
        {collections.length ? (
          <ul aria-label="Collections">
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
          <p className="none">Collections keep documents together that you ask about together.</p>
        )}
      </div>
      {status && <Status status={status} />}
      <CollectionDialogs asked={asked} current={current} onClose={() => setAsked(null)} />
    </nav>
  );
}
