// What is known of the owner, to be read in one piece: their own sentences, each a link to its story.
import { UserRound } from "lucide-react";
import { useCallback } from "react";
import { memoryApi } from "../../api/memory";
import type { Memory } from "../../api/types";
import { locale, t } from "../../i18n";
import { PageHead } from "../../kit/PageHead";
import { Empty, Link, ProblemNotice, Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { useNews } from "../../services/news";
import { useRead } from "../../services/useRead";
import styles from "./memory.module.css";
import { Part } from "./Part";
import { type Paragraph, paragraphsOf } from "./profileText";
import { monthName } from "./TimeSlider";
import { Told } from "./Told";
import { momentOf } from "./useMemories";

const PAGE = 200;
/** Of more, the list is the better look. */
const MOST = 600;

async function read(
  asOf: string,
  signal: AbortSignal,
): Promise<{ items: Memory[]; total: number }> {
  const moment = momentOf(asOf, true);
  const wanted = { order: "category", limit: PAGE, ...(moment && { as_of: moment }) } as const;
  let page = await memoryApi.list(wanted, signal);
  const { total } = page;
  const items = [...page.items];
  while (page.cursor && items.length < MOST) {
    page = await memoryApi.list({ ...wanted, cursor: page.cursor }, signal);
    items.push(...page.items);
  }
  return { items, total };
}

export function Profile({ asOf }: { asOf: string }) {
  const { memoryNews } = useApp();
  const ask = useCallback((signal: AbortSignal) => read(asOf, signal), [asOf]);
  const { value, problem, read: again, look } = useRead(ask);
  useNews(memoryNews, look);
  const name = asOf ? t("Profile at the end of {month}", { month: monthName(asOf) }) : t("Profile");
  return (
    <>
      <PageHead title={name}>
        <Link className="button" to="/memory/people">
          {t("People and things")}
        </Link>
      </PageHead>
      <div className={`${styles.body} scroll`}>
        {problem && <ProblemNotice problem={problem} onRetry={() => void again()} />}
        {!value && !problem && <Skeleton lines={8} label={t("Loading the profile")} />}
        {value && value.items.length === 0 && (
          <Empty icon={UserRound} title={t("Nothing is known")}>
            <p>{t("What Bethink knows about you will stand here, in your own words.")}</p>
          </Empty>
        )}
        {value && value.items.length > 0 && (
          <div className={styles.profile}>
            {!asOf && <Told />}
            {paragraphsOf(value.items).map((paragraph) => (
              <Prose key={paragraph.category} paragraph={paragraph} />
            ))}
            {value.total > value.items.length && (
              <p className={styles.meta}>
                {t("{shown} of {count} memories; the list has all of them.", {
                  shown: value.items.length.toLocaleString(locale()),
                  count: value.total.toLocaleString(locale()),
                })}
              </p>
            )}
          </div>
        )}
      </div>
    </>
  );
}

function Prose({ paragraph }: { paragraph: Paragraph }) {
  const { category, name, sentences, from, until } = paragraph;
  const month = (time: number) =>
    new Date(time).toLocaleDateString(locale(), { month: "long", year: "numeric" });
  const learnt =
    month(from) === month(until)
      ? t("Learnt in {month}", { month: month(from) })
      : t("Learnt from {from} to {until}", { from: month(from), until: month(until) });
  return (
    <section aria-labelledby={`profile-${category}`}>
      <Part id={`profile-${category}`}>{name}</Part>
      <p>
        {sentences.map(({ id, text, when, isDoubted }) => (
          <span key={id}>
            <Link to={`/memory/${encodeURIComponent(id)}`}>{text}</Link>
            {(when || isDoubted) && (
              <small> ({[when, isDoubted && t("in doubt")].filter(Boolean).join(", ")})</small>
            )}{" "}
          </span>
        ))}
      </p>
      <p className={styles.meta}>{learnt}</p>
    </section>
  );
}
