import { FileUp, FolderInput, Library, MessageSquareText, Tag, Trash2, X } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import type { Document } from "../../api/documents";
import { locale, t } from "../../i18n";
import { Button, IconButton } from "../../kit/Button";
import { DropHere } from "../../kit/DropHere";
import { PageHead } from "../../kit/PageHead";
import { Empty, ProblemNotice, Skeleton } from "../../kit/pieces";
import { useFileDrop } from "../../kit/useFileDrop";
import { useApp } from "../../services/context";
import { addressOfDocuments } from "../../services/router";
import { AddDocuments } from "./AddDocuments";
import { type Asked, DocumentDialogs } from "./DocumentDialogs";
import { DocumentList } from "./DocumentList";
import styles from "./Documents.module.css";
import { filesIn } from "./dropped";
import { Frame } from "./Frame";
import { LibraryTools } from "./LibraryTools";
import { SearchHits } from "./SearchHits";
import { UploadQueue } from "./UploadQueue";
import { useAsk } from "./useAsk";
import { useCollections } from "./useCollections";
import { useDocumentActions } from "./useDocumentActions";
import { type Filter, noFilter, useLibrary } from "./useLibrary";

type PageProps = { collection: string | null; query: string };

/** Puts files into the library, and says which were left out. */
export function useAddFiles(collection: string | null) {
  const { documentUploads, toasts } = useApp();
  return (files: readonly File[], hidden: number) => {
    documentUploads.add(files.map((file) => ({ file, collection })));
    if (hidden)
      toasts.show(
        t("{count} left out", {
          count: t("{count, plural, one {# hidden file} other {# hidden files}}", {
            count: hidden,
          }),
        }),
      );
    else if (!files.length) toasts.show(t("There are no files in it"));
  };
}

/** Values that documents were seen with: a filter does not take away the choice that it is. */
function useSeen(
  documents: readonly Document[],
  valuesOf: (document: Document) => readonly string[],
) {
  const seen = useRef(new Set<string>());
  for (const document of documents) for (const value of valuesOf(document)) seen.current.add(value);
  return [...seen.current].sort();
}

const kindsOf = ({ kind }: Document) => (kind ? [kind] : []);
const tagsOf = ({ tags }: Document) => tags;
const isFiltered = ({ kind, stage, tag }: Filter) => Boolean(kind || stage || tag);

export function LibraryPage({ collection, query }: PageProps) {
  const { router, toasts } = useApp();
  const library = useCollections();
  const [filter, setFilter] = useState(noFilter);
  const { listed, more, read } = useLibrary(collection, filter);
  const { items, problem } = listed;
  const actions = useDocumentActions();
  const chat = useAsk();
  const add = useAddFiles(collection);
  const { over, handlers } = useFileDrop((dropped) => {
    filesIn(dropped).then(({ files, hidden }) => add(files, hidden), toasts.fault);
  });
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is chosen is of one list
  useEffect(() => setChosen(new Set()), [collection]);
  const selected = useMemo(() => items.filter(({ id }) => chosen.has(id)), [items, chosen]);
  const [asked, setAsked] = useState<Asked | null>(null);
  const select = (id: string, on: boolean) =>
    setChosen((now) => new Set(on ? [...now, id] : [...now].filter((each) => each !== id)));
  const here = library.collections.find(({ id }) => id === collection);
  const kinds = useSeen(items, kindsOf);
  const tags = useSeen(items, tagsOf);
  const words = query.trim();
  const asSources = (documents: readonly Document[]) =>
    documents.map(({ id, name }) => ({ kind: "document", id, name }) as const);
  const none = listed.status === "ready" && !items.length;
  return (
    <Frame library={library} current={collection}>
      <div className={`page ${styles.library}`} {...handlers}>
        <PageHead title={here?.name ?? t("All documents")} isLong>
          {here && (
            <Button
              data-fold
              icon={MessageSquareText}
              onClick={() => chat([{ kind: "collection", id: here.id, name: here.name }])}
            >
              {t("Ask")}
            </Button>
          )}
          {here?.writes !== false && <AddDocuments collection={collection} onFiles={add} />}
        </PageHead>
        <div className={`page-inner ${styles.top}`}>
          <LibraryTools
            query={query}
            filter={filter}
            kinds={kinds}
            tags={tags}
            onQuery={(text) => router.go(addressOfDocuments(collection, text), true)}
            onFilter={(patch) => setFilter({ ...filter, ...patch })}
          />
          {problem && !words && <ProblemNotice problem={problem} onRetry={() => void read()} />}
          {listed.status === "loading" && !words && (
            <Skeleton lines={7} label={t("Loading documents")} />
          )}
          {!words && items.length > 0 && (
            <Selected
              all={items}
              selected={selected}
              hasMore={listed.cursor !== null}
              onAll={(on) => setChosen(new Set(on ? items.map(({ id }) => id) : []))}
              onAsk={(what) => setAsked({ what, of: selected })}
              onChat={() => chat(asSources(selected))}
            />
          )}
        </div>
        {words && (
          <div className={`${styles.list} scroll`}>
            <div className="page-inner">
              <SearchHits query={words} collection={collection} />
            </div>
          </div>
        )}
        {!words && none && (isFiltered(filter) ? <NoneFit /> : <NoneYet />)}
        {!words && items.length > 0 && (
          <DocumentList
            items={items}
            collection={collection}
            selected={chosen}
            actions={actions}
            onSelect={select}
            onAsk={setAsked}
            onChat={(document) => chat(asSources([document]))}
            onMore={more}
          />
        )}
        <UploadQueue />
        {over && (
          <DropHere icon={FileUp}>
            {here
              ? t("Drop files or folders to add them to {name}", { name: here.name })
              : t("Drop files or folders to add them")}
          </DropHere>
        )}
      </div>
      <DocumentDialogs
        asked={asked}
        collections={library.collections}
        actions={actions}
        onClose={() => setAsked(null)}
      />
    </Frame>
  );
}

type SelectedProps = {
  all: readonly Document[];
  selected: readonly Document[];
  hasMore: boolean;
  onAll: (on: boolean) => void;
  onAsk: (what: Asked["what"]) => void;
  onChat: () => void;
};

/** How many there are; once some are selected, what can be done with them, in the same place. */
function Selected({ all, selected, hasMore, onAll, onAsk, onChat }: SelectedProps) {
  const some = selected.length > 0;
  return (
    <div className={styles.bulk}>
      <label className={styles.tick}>
        <input
          type="checkbox"
          checked={some && selected.length === all.length}
          ref={(box) => {
            if (box) box.indeterminate = some && selected.length < all.length;
          }}
          aria-label={t("Select all")}
          onChange={(event) => onAll(event.target.checked)}
        />
      </label>
      <span className={styles.count} role="status">
        {some
          ? t("{count} selected", { count: selected.length.toLocaleString(locale()) })
          : `${hasMore ? t("More than ") : ""}${t("{count, plural, one {# document} other {# documents}}", { count: all.length })}`}
      </span>
      {some && (
        <div className={styles.bulkActions}>
          <Button look="quiet" icon={MessageSquareText} onClick={onChat}>
            {t("Ask these")}
          </Button>
          <Button look="quiet" icon={FolderInput} onClick={() => onAsk("move")}>
            {t("Move")}
          </Button>
          <Button look="quiet" icon={Tag} onClick={() => onAsk("tag")}>
            {t("Tags")}
          </Button>
          <Button look="quiet" icon={Trash2} onClick={() => onAsk("remove")}>
            {t("Remove")}
          </Button>
          <IconButton icon={X} size={16} label={t("Select none")} onClick={() => onAll(false)} />
        </div>
      )}
    </div>
  );
}

function NoneFit() {
  return (
    <Empty icon={Library} title={t("No documents fit")}>
      <p>{t("Choose another format, state or tag.")}</p>
    </Empty>
  );
}

function NoneYet() {
  return (
    <Empty icon={FileUp} title={t("Drop files here")}>
      <p>
        {t(
          "PDF, Word, PowerPoint, Excel, OpenDocument, e-books, web pages, e-mails, Markdown, CSV, source code and plain text are read page by page. Answers then quote them and lead to the passage.",
        )}
      </p>
      <p>{t("Add files, a folder or a web address with the buttons above, or watch a folder.")}</p>
    </Empty>
  );
}
