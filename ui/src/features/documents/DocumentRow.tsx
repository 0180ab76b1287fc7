import {
  CircleAlert,
  Clock,
  Download,
  Ellipsis,
  FolderInput,
  Info,
  LoaderCircle,
  MessageSquareText,
  Pencil,
  RotateCw,
  Tag,
  Trash2,
  X,
} from "lucide-react";
import { type Document, documentsApi } from "../../api/documents";
import { t, told } from "../../i18n";
import { Button } from "../../kit/Button";
import { Menu, type MenuItem } from "../../kit/Popover";
import { Link } from "../../kit/pieces";
import { addressOfDocument } from "../../services/router";
import { bytes, fullDate, shortDate } from "../../services/words";
import type { Asked } from "./DocumentDialogs";
import styles from "./Documents.module.css";
import type { DocumentActions } from "./useDocumentActions";
import { currentReading, factsOf, isWorking, kindIcon, progressWords } from "./words";

export type RowProps = {
  document: Document;
  selected: boolean;
  /** Whether the collection that it is in is shown anyway. */
  inCollection: boolean;
  actions: DocumentActions;
  onSelect: (on: boolean) => void;
  onAsk: (what: Asked["what"]) => void;
  onChat: () => void;
};

/** How the reading goes, or why it did not. */
export function Progress({ document, actions }: Pick<RowProps, "document" | "actions">) {
  const reading = currentReading(document);
  if (isWorking(reading)) {
    const { pages, done, stage } = reading;
    const share = stage === "indexing" ? 1 : pages ? done / pages : 0;
    return (
      <div className={styles.progress}>
        {stage === "waiting" ? (
          <Clock size={14} aria-hidden />
        ) : (
          <LoaderCircle size={14} aria-hidden className={styles.turning} />
        )}
        <span>
          {document.pending ? t("New version: ") : ""}
          {progressWords(reading)}
        </span>
        {stage !== "waiting" && (
          <progress
            max={1}
            value={share}
            aria-label={t("Reading of {name}", { name: document.name })}
          />
        )}
        <Button look="quiet" icon={X} onClick={() => void actions.cancel(document)}>
          {t("Cancel")}
          <span className="visually-hidden">
            {" "}
            {t("the reading of {name}", { name: document.name })}
          </span>
        </Button>
      </div>
    );
  }
  if (reading.stage === "ready") return null;
  return (
    <div className={`${styles.progress} ${styles.fault}`}>
      <CircleAlert size={14} aria-hidden />
      <span>
        {document.pending ? t("The new version could not be read. ") : ""}
        {told(reading.error ?? "") || progressWords(reading)}
      </span>
      <Button look="quiet" icon={RotateCw} onClick={() => void actions.retry(document)}>
        {t("Retry")}
        <span className="visually-hidden"> {t("reading {name}", { name: document.name })}</span>
      </Button>
    </div>
  );
}

const itemsOf = ({ document, onAsk, onChat }: RowProps): MenuItem[] => [
  { label: t("Ask about it"), icon: MessageSquareText, run: onChat },
  { label: t("Rename"), icon: Pencil, run: () => onAsk("rename") },
  { label: t("Move"), icon: FolderInput, run: () => onAsk("move") },
  { label: t("Tags"), icon: Tag, run: () => onAsk("tag") },
  ...(document.has_original
    ? [
        {
          label: t("Download"),
          icon: Download,
          run: () => download(document.id, document.content, document.name),
        },
      ]
    : []),
  { label: t("Remove"), icon: Trash2, run: () => onAsk("remove"), fault: true },
];

/** Has the browser save the original. */
export function download(id: string, content: string, name: string): void {
  const link = Object.assign(window.document.createElement("a"), {
    href: documentsApi.addressOfFile(id, content),
    download: name,
  });
  link.click();
}

export function DocumentRow(props: RowProps) {
  const { document, selected, inCollection, actions, onSelect } = props;
  const { id, name, title, kind, size, tags, collection, note, updated_at } = document;
  const Icon = kindIcon(kind);
  const changed = Date.parse(updated_at);
  // What is being done stands in the place of what is known: rows keep their height.
  const isSettled = currentReading(document).stage === "ready";
  const facts = [...factsOf(document), bytes(size)];
  return (
    <>
      <label className={styles.tick}>
        <input
          type="checkbox"
          checked={selected}
          aria-label={t("Select {name}", { name })}
          onChange={(event) => onSelect(event.target.checked)}
        />
      </label>
      <Icon size={20} strokeWidth={1.5} aria-hidden className={styles.icon} />
      <div className={styles.words}>
        <Link className={styles.name} to={addressOfDocument(id)} data-row={id}>
          {name}
        </Link>
        {isSettled ? (
          <div className={styles.meta}>
            {title && title !== name && <span className={`${styles.title} clip`}>{title}</span>}
            <span>{facts.join(" · ")}</span>
            <time dateTime={updated_at} title={fullDate(changed)}>
              {shortDate(changed)}
            </time>
            {collection && !inCollection && <span>{collection.name}</span>}
            {tags.map((tag) => (
              <span key={tag} className={styles.tag}>
                {tag}
              </span>
            ))}
            {note && (
              <span title={note}>
                <Info size={12} aria-hidden />
                <span className="clip">{note}</span>
              </span>
            )}
          </div>
        ) : (
          <Progress document={document} actions={actions} />
        )}
      </div>
      <Menu icon={Ellipsis} label={t("More for {name}", { name })} items={itemsOf(props)} />
    </>
  );
}
