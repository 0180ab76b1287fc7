import { FileUp } from "lucide-react";
import { type ReactNode, useRef } from "react";
import type { Document } from "../../api/documents";
import { t, told } from "../../i18n";
import { Button } from "../../kit/Button";
import { Link } from "../../kit/pieces";
import { addressOfDocument, addressOfDocuments } from "../../services/router";
import { bytes, fullDate, shortDate } from "../../services/words";
import { Progress } from "./DocumentRow";
import styles from "./Documents.module.css";
import type { DocumentActions } from "./useDocumentActions";
import viewer from "./Viewer.module.css";
import { kindName, originName } from "./words";

type DetailsProps = {
  document: Document;
  /** The version that is shown. */
  content: string;
  actions: DocumentActions;
  onVersion: (file: File) => void;
};

const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

/** Where a document came from: an address of the web leads there. */
function Origin({ origin }: Pick<Document, "origin">) {
  const { kind, place } = origin;
  const words = originName(kind);
  if (/^https?:\/\//.test(place)) {
    return (
      <>
        {words}{" "}
        <a href={place} target="_blank" rel="noreferrer noopener">
          {place}
        </a>
      </>
    );
  }
  return <>{kind === "folder" ? `${words} ${place}` : words}</>;
}

/** What is known of a document beside what it says. */
export function Details({ document, content, actions, onVersion }: DetailsProps) {
  const input = useRef<HTMLInputElement>(null);
  const { collection, tags, note, versions, pages, passages } = document;
  const added = Date.parse(document.created_at);
  return (
    <div className={viewer.details}>
      <Progress document={document} actions={actions} />
      {note && <p className={styles.note}>{told(note)}</p>}
      <dl>
        <Fact name={t("Format")}>
          {[kindName(document.kind), bytes(document.size)].filter(Boolean).join(", ")}
        </Fact>
        {pages > 0 && (
          <Fact name={t("Contents")}>
            {t("{count, plural, one {# page} other {# pages}}", { count: pages })},{" "}
            {t("{count, plural, one {# passage} other {# passages}}", { count: passages })}
          </Fact>
        )}
        <Fact name={t("Collection")}>
          {collection ? (
            <Link to={addressOfDocuments(collection.id)}>{collection.name}</Link>
          ) : (
            t("None")
          )}
        </Fact>
        {tags.length > 0 && <Fact name={t("Tags")}>{tags.join(", ")}</Fact>}
        <Fact name={t("Origin")}>
          <Origin origin={document.origin} />
        </Fact>
        <Fact name={t("Added")}>
          <time dateTime={document.created_at}>{fullDate(added)}</time>
        </Fact>
      </dl>
      <h3>{t("Versions")}</h3>
      <ol className={viewer.versions} reversed>
        {versions.toReversed().map(({ content: one, at }, i) => (
          <li key={one}>
            <Link
              to={addressOfDocument(document.id, one === document.content ? {} : { content: one })}
              aria-current={one === content ? "page" : undefined}
            >
              {shortDate(Date.parse(at))}
              {one === document.content && `, ${t("current")}`}
              {i === 0 && document.pending && `, ${t("being read")}`}
            </Link>
          </li>
        ))}
      </ol>
      <Button icon={FileUp} onClick={() => input.current?.click()}>
        {t("Add a new version")}
      </Button>
      <input
        ref={input}
        type="file"
        hidden
        tabIndex={-1}
        aria-label={t("The new version")}
        onChange={({ target }) => {
          const [file] = target.files ?? [];
          if (file) onVersion(file);
          target.value = "";
        }}
      />
    </div>
  );
}
