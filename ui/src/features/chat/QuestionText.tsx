import { t } from "../../i18n";
import { Link } from "../../kit/pieces";
import { type NamedSource, namedIn } from "../../run/named";
import { addressOfDocument, addressOfDocuments, addressOfPage } from "../../services/router";
import styles from "./Chips.module.css";
import { icons } from "./NamedChips";

const addressOf = ({ kind, id }: NamedSource): string => {
  if (kind === "document") return addressOfDocument(id);
  return kind === "collection" ? addressOfDocuments(id) : addressOfPage(id);
};

/** What was said, and links to what it is about in place of the line that names it. */
export function QuestionText({ said }: { said: string }) {
  const { text, sources } = namedIn(said);
  return (
    <>
      <p dir="auto">{text}</p>
      {sources.length > 0 && (
        <ul className={styles.links} aria-label={t("Named in this message")}>
          {sources.map((source) => {
            const Icon = icons[source.kind];
            return (
              <li key={`${source.kind}:${source.id}`}>
                <Link to={addressOf(source)} className={styles.link}>
                  <Icon size={14} strokeWidth={1.75} aria-hidden />
                  <span className="clip">{source.name}</span>
                </Link>
              </li>
            );
          })}
        </ul>
      )}
    </>
  );
}
