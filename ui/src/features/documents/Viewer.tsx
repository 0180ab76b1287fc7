// One document: its pages, opened at the passage that somebody came for.
import { FileUp, FileX } from "lucide-react";
import { lazy, Suspense, useCallback, useEffect, useMemo, useState } from "react";
import { type Document, documentsApi } from "../../api/documents";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { DropHere } from "../../kit/DropHere";
import { Panes } from "../../kit/Panes";
import { Empty, Link, Notice, ProblemNotice, Skeleton } from "../../kit/pieces";
import { useFileDrop } from "../../kit/useFileDrop";
import { useApp } from "../../services/context";
import { useNews } from "../../services/news";
import { addressOfDocument, addressOfNode, type DocumentPlace } from "../../services/router";
import { useStore } from "../../services/store";
import { useKey } from "../../services/useKey";
import { useRead } from "../../services/useRead";
import { useAgain } from "../../services/useReturn";
import { shortDate } from "../../services/words";
import { Details } from "./Details";
import { type Asked, DocumentDialogs } from "./DocumentDialogs";
import { Progress } from "./DocumentRow";
import styles from "./Documents.module.css";
import { FindBar } from "./FindBar";
import { isLeft, UploadLine } from "./UploadQueue";
import { useAsk } from "./useAsk";
import { useCollections } from "./useCollections";
import { useDocumentActions } from "./useDocumentActions";
import { type Target, useMark } from "./useTarget";
import viewer from "./Viewer.module.css";
import { type Face, ViewerHead } from "./ViewerHead";
import { currentReading, isWorking } from "./words";

const PdfPages = lazy(() => import("./PdfPages"));
const TextPages = lazy(() => import("./TextPages"));

const LOOK_MS = 1000;
const ZOOMS = [0.5, 0.67, 0.8, 1, 1.25, 1.5, 2, 3] as const;
const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/** What is no Markdown is shown as it stands. */
const PLAIN = ["text", "code", "json"];

function faceOf({ kind, media_type, has_original }: Document): Face {
  if (!has_original) return "text";
  if (kind === "pdf") return "pdf";
  return PICTURES.includes(media_type) ? "picture" : "text";
}

const isPlain = ({ kind, name, media_type }: Document) =>
  PLAIN.includes(kind) && media_type !== "text/markdown" && !/\.(md|markdown)$/i.test(name);

export function Viewer({ id, place }: { id: string; place: DocumentPlace }) {
  const { documentNews } = useApp();
  const ask = useCallback((signal: AbortSignal) => documentsApi.get(id, signal), [id]);
  const { value: document, problem, read, look } = useRead(ask);
  useNews(documentNews, look);
  useAgain(document !== null && isWorking(currentReading(document)), LOOK_MS, look);
  if (problem?.status === 404) {
    return (
      <div className="page">
        <h1 className="visually-hidden">{t("Document not found")}</h1>
        <Empty icon={FileX} title={t("This document is not there")}>
          <p>{t("It may have been removed. What was quoted from it stays in its conversation.")}</p>
          <Link className="button" to="/documents">
            {t("All documents")}
          </Link>
        </Empty>
      </div>
    );
  }
  return document ? (
    <OpenDocument document={document} place={place} />
  ) : (
    <div className="page">
      <div className="page-inner">
        <h1 className="visually-hidden">{t("Document")}</h1>
        {problem ? (
          <ProblemNotice problem={problem} onRetry={() => void read()} />
        ) : (
          <Skeleton lines={8} label={t("Loading the document")} />
        )}
      </div>
    </div>
  );
}

/** What its reader came for: the address's place, then what was found or typed since. */
function useTargets({ page, at }: DocumentPlace) {
  const [target, setTarget] = useState<Target | null>(null);
  const [begin = null, end = null] = at ?? [];
  useEffect(() => {
    const span = begin !== null && end !== null ? ([begin, end] as const) : null;
    setTarget(page ? { page, at: span } : null);
  }, [page, begin, end]);
  return [target, setTarget] as const;
}

/** The newer version that is on its way: it goes on over lost connections and reloads, like any upload. */
function useNewVersion({ id }: Document) {
  const { documentUploads: uploads } = useApp();
  const list = useStore(uploads.store);
  const upload = list.filter(isLeft).find((each) => each.versionOf === id);
  const replace = (file: File) => uploads.add([{ file, versionOf: id }]);
  return { upload, replace };
}

function OpenDocument({ document, place }: { document: Document; place: DocumentPlace }) {
  const { router, toasts } = useApp();
  const { id, name } = document;
  const content = place.content ?? document.content;
  const [panel, setPanel] = useState(false);
  const [finding, setFinding] = useState(false);
  const [asked, setAsked] = useState<Asked | null>(null);
  const [page, setPage] = useState(1);
  const [count, setCount] = useState(document.pages);
  const [zoom, setZoom] = useState<number>(ZOOMS.indexOf(1));
  const [chosen, setChosen] = useState<Face | null>(null);
  const [unmarked, setUnmarked] = useState(false);
  const [target, setTarget] = useTargets(place);
  const mark = useMark(id, content, target);
  const original = faceOf(document);
  const face = chosen ?? original;
  const { collections } = useCollections();
  const actions = useDocumentActions();
  const chat = useAsk();
  const { upload, replace } = useNewVersion(document);
  const { over, handlers } = useFileDrop(({ files }) => {
    const [file, ...others] = files;
    if (others.length) toasts.show(t("Drop one file to make it the new version"));
    else if (file) replace(file);
  });
  useKey("find", () => setFinding(true));
  // biome-ignore lint/correctness/useExhaustiveDependencies: another place is looked for anew
  useEffect(() => setUnmarked(false), [target, face]);
  const problem = useCallback(
    (error: unknown) => {
      const isLocked = error instanceof Error && error.name === "PasswordException";
      toasts.show(
        isLocked
          ? t("The original asks for a password, so what was read of it is shown")
          : t("The original cannot be drawn here, so what was read of it is shown"),
      );
      setChosen("text");
    },
    [toasts],
  );
  const details = (
    <Details document={document} content={content} actions={actions} onVersion={replace} />
  );
  const version = useMemo(
    () => document.versions.find((each) => each.content === content),
    [document.versions, content],
  );
  const isOlder = content !== document.content;
  const common = { id, content, target, onCount: setCount, onPage: setPage };
  return (
    <Panes
      name="document"
      side={panel && details}
      sideLabel={t("Details")}
      onCloseSide={() => setPanel(false)}
    >
      <div className={`page ${viewer.viewer}`} {...handlers}>
        <ViewerHead
          document={document}
          content={content}
          shown={{ page, count, zoom, face }}
          face={original}
          details={panel}
          onFace={setChosen}
          onPage={(number) => setTarget({ page: number, at: null })}
          onZoom={(by) => setZoom((now) => Math.min(ZOOMS.length - 1, Math.max(0, now + by)))}
          onFind={() => setFinding(true)}
          onDetails={() => setPanel(!panel)}
          onAsk={(what) => setAsked({ what, of: [document] })}
          onChat={() => chat([{ kind: "document", id, name }])}
          onGraph={() => router.go(addressOfNode({ node: `document:${id}` }))}
        />
        {finding && (
          <FindBar
            id={id}
            content={content}
            count={count}
            page={page}
            onFound={setTarget}
            onClose={() => setFinding(false)}
          />
        )}
        <div className={viewer.notices}>
          {isOlder && (
            <Notice tone="ask">
              <span>
                {version
                  ? t("This is the version of {date}, not the current one.", {
                      date: shortDate(Date.parse(version.at)),
                    })
                  : t("This is an older version, not the current one.")}{" "}
                <Link to={addressOfDocument(id)}>{t("Open the current version")}</Link>
              </span>
            </Notice>
          )}
          {unmarked && (
            <Notice>
              <span>
                {t(
                  "The passage is on this page, but its words could not be marked in the original.",
                )}
              </span>
              <span>
                <Button onClick={() => setChosen("text")}>{t("Show it in the text")}</Button>
              </span>
            </Notice>
          )}
          {!panel && !isOlder && <Progress document={document} actions={actions} />}
          {upload && (
            <section className={styles.uploads} aria-label={t("New version")}>
              <ul>
                <UploadLine one={upload} />
              </ul>
            </section>
          )}
        </div>
        <Suspense fallback={<Skeleton lines={8} label={t("Loading the document")} />}>
          {face === "pdf" && (
            <PdfPages
              key={content}
              {...common}
              zoom={ZOOMS[zoom] ?? 1}
              mark={mark}
              onProblem={problem}
              onUnmarked={() => setUnmarked(true)}
            />
          )}
          {face === "picture" && (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a large picture is scrolled with the keyboard
            <section className={`${viewer.picture} scroll`} tabIndex={0} aria-label={t("Picture")}>
              <img src={documentsApi.addressOfFile(id, content)} alt={document.title || name} />
            </section>
          )}
          {face === "text" && (
            <TextPages
              key={`${content} ${document.stage}`}
              {...common}
              isPlain={isPlain(document)}
            />
          )}
        </Suspense>
        {over && <DropHere icon={FileUp}>{t("Drop a file to make it the new version")}</DropHere>}
      </div>
      <DocumentDialogs
        asked={asked}
        collections={collections}
        actions={actions}
        onClose={() => setAsked(null)}
        onRemoved={() => router.go("/documents", true)}
      />
    </Panes>
  );
}
