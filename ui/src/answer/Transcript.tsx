// A conversation as a document, for readers who cannot answer in it and for paper.
import { Paperclip } from "lucide-react";
import { locale, t } from "../i18n";
import { fullDate } from "../services/words";
import { LazyMarkdown } from "./LazyMarkdown";
import styles from "./transcript.module.css";

export type TranscriptMessage = {
  key: string;
  role: "user" | "assistant";
  content: string;
  at: number;
  speaker?: string | null;
  memories?: readonly string[];
  files?: readonly { name: string; media_type: string; url: string }[];
};

function Message({ said }: { said: TranscriptMessage }) {
  const who = said.speaker ?? (said.role === "user" ? t("You") : t("Bethink"));
  return (
    <article className={`${styles.message} ${said.role === "user" ? styles.asked : ""}`}>
      <header>
        <h2>{who}</h2>
        <time dateTime={new Date(said.at).toISOString()}>{fullDate(said.at)}</time>
      </header>
      {said.role === "user" ? (
        <p className={styles.words}>{said.content}</p>
      ) : (
        <LazyMarkdown text={said.content} />
      )}
      {said.files?.map((file) => (
        <p key={file.url} className={styles.file}>
          {file.media_type.startsWith("image/") ? (
            <img src={file.url} alt={file.name} />
          ) : (
            <a href={file.url}>
              <Paperclip size={14} aria-hidden /> {file.name}
            </a>
          )}
        </p>
      ))}
      {said.memories && said.memories.length > 0 && (
        <details className={styles.memories}>
          <summary>
            {t("{count, plural, one {Used # memory} other {Used # memories}}", {
              count: said.memories.length,
            })}
          </summary>
          <ul>
            {said.memories.map((memory) => (
              <li key={memory}>{memory}</li>
            ))}
          </ul>
        </details>
      )}
    </article>
  );
}

type TranscriptProps = {
  title: string;
  /** What it is of: when it was shared, or printed. */
  note: string;
  messages: readonly TranscriptMessage[];
};

export function Transcript({ title, note, messages }: TranscriptProps) {
  return (
    <div className={styles.transcript} lang={locale()}>
      <h1>{title}</h1>
      <p className={styles.note}>{note}</p>
      {messages.map((said) => (
        <Message key={said.key} said={said} />
      ))}
    </div>
  );
}
