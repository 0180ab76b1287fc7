// The profile in prose, as it was written at night: behind each sentence the memories that it is told from.
import { memoryApi } from "../../api/memory";
import { locale, t } from "../../i18n";
import { Link } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { useNews } from "../../services/news";
import { useRead } from "../../services/useRead";
import styles from "./memory.module.css";
import { Part } from "./Part";

const ask = (signal: AbortSignal) => memoryApi.profile(signal);

export function Told() {
  const { memoryNews } = useApp();
  const { value, look } = useRead(ask);
  useNews(memoryNews, look);
  if (!value?.at || !value.sentences.length) return null;
  const { at, sentences, lost } = value;
  const places = new Map(
    [...new Set(sentences.flatMap(({ memories }) => memories))].map((id, i) => [id, i + 1]),
  );
  return (
    <section aria-labelledby="profile-told" className={styles.told}>
      <Part id="profile-told">{t("In short")}</Part>
      <p>
        {sentences.map(({ text, memories }) => (
          <span key={text}>
            {text}
            {memories.map((id) => (
              <Link
                key={id}
                className={styles.cited}
                to={`/memory/${encodeURIComponent(id)}`}
                aria-label={t("Memory {number}, which this is told from", {
                  number: places.get(id) ?? 0,
                })}
              >
                {places.get(id)}
              </Link>
            ))}{" "}
          </span>
        ))}
      </p>
      <p className={styles.meta}>
        {t("Written on {date}", {
          date: new Date(at).toLocaleDateString(locale(), { dateStyle: "long" }),
        })}
        {lost > 0 &&
          ` · ${t(
            "{count, plural, one {# sentence is} other {# sentences are}} left out, since what it was told from has changed",
            { count: lost },
          )}`}{" "}
        · <Link to="/memory/tidying">{t("Tidying up")}</Link>
      </p>
    </section>
  );
}
