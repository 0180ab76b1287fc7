// How well one is known: month by month in numbers, and what was asked and not found, to be answered once.
import { Check, CircleHelp, X } from "lucide-react";
import { type FormEvent, useId, useState } from "react";
import { type KnownMonth, memoryApi, type UnansweredQuestion } from "../../api/memory";
import { locale, t } from "../../i18n";
import { Button } from "../../kit/Button";
import { PageHead } from "../../kit/PageHead";
import { Empty, Link, ProblemNotice, Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { useNews } from "../../services/news";
import { addressOfChat } from "../../services/router";
import { useRead } from "../../services/useRead";
import styles from "./memory.module.css";
import { Part } from "./Part";
import { useMemoryActions } from "./useMemoryActions";

const ask = (signal: AbortSignal) => memoryApi.ownNumbers(signal);

export function OwnNumbers() {
  const { memoryNews } = useApp();
  const { value, problem, read, look } = useRead(ask);
  useNews(memoryNews, look);
  const known = value?.months.at(-1)?.known ?? 0;
  return (
    <>
      <PageHead title={t("How well do you know me?")} />
      <div className={`${styles.body} scroll`}>
        {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
        {!value && !problem && <Skeleton lines={6} label={t("Counting")} />}
        {value && !value.months.length && !value.questions.length && (
          <Empty icon={CircleHelp} title={t("Nothing is known")}>
            <p>{t("Tell Bethink something about yourself in Chat.")}</p>
          </Empty>
        )}
        {value && (value.months.length > 0 || value.questions.length > 0) && (
          <>
            <p className={styles.statement}>
              {t(
                "{count, plural, one {One thing is known about you.} other {# things are known about you.}}",
                {
                  count: known,
                },
              )}
            </p>
            <Questions questions={value.questions} />
            {value.months.length > 0 && <Months months={value.months} />}
          </>
        )}
      </div>
    </>
  );
}

function Questions({ questions }: { questions: readonly UnansweredQuestion[] }) {
  if (!questions.length) return null;
  return (
    <section aria-labelledby="open-questions" className={styles.questions}>
      <Part id="open-questions">{t("Asked, and not found")}</Part>
      <p className={styles.meta}>
        {t("Answer once, and it is known. What you dismiss is not asked again.")}
      </p>
      <ul className={styles.suggestions}>
        {questions.map((question) => (
          <li key={question.id}>
            <Question question={question} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Question({ question: { id, text, at, conversation } }: { question: UnansweredQuestion }) {
  const actions = useMemoryActions();
  const [answer, setAnswer] = useState("");
  const field = useId();
  const save = (event: FormEvent) => {
    event.preventDefault();
    if (answer.trim()) void actions.answer(id, answer.trim());
  };
  return (
    <article aria-labelledby={field}>
      <form onSubmit={save} className={styles.answer}>
        <label className="field" id={field}>
          <span>{text}</span>
          <input
            type="text"
            className="input"
            value={answer}
            maxLength={8000}
            placeholder={t("In a sentence, such as: My dentist is Dr. Ito")}
            onChange={(event) => setAnswer(event.target.value)}
          />
        </label>
        <div className={styles.actions}>
          <Button icon={Check} type="submit" disabled={!answer.trim()}>
            {t("Remember")}
          </Button>
          <Button icon={X} look="quiet" onClick={() => void actions.dismiss(id)}>
            {t("Dismiss")}
          </Button>
          <Link to={addressOfChat(conversation)} className={styles.meta}>
            {t("Asked on {date}", {
              date: new Date(at).toLocaleDateString(locale(), { dateStyle: "medium" }),
            })}
          </Link>
        </div>
      </form>
    </article>
  );
}

function Months({ months }: { months: readonly KnownMonth[] }) {
  const columns: [keyof KnownMonth, string][] = [
    ["known", t("Known")],
    ["learnt", t("Learnt")],
    ["recalled", t("Recalled")],
    ["used", t("Named")],
    ["corrected", t("Corrected")],
    ["forgotten", t("Forgotten")],
  ];
  const name = (month: string) =>
    new Date(`${month}-15T00:00Z`).toLocaleDateString(locale(), { month: "long", year: "numeric" });
  return (
    <div>
      <Part id="months">{t("Month by month")}</Part>
      {/* On a phone it is wider than the page. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled by the arrow keys */}
      <section className={styles.scrolled} aria-labelledby="months" tabIndex={0}>
        <table className={styles.months}>
          <thead>
            <tr>
              <th scope="col">{t("Month")}</th>
              {columns.map(([key, words]) => (
                <th key={key} scope="col">
                  {words}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {months.toReversed().map((one) => (
              <tr key={one.month}>
                <th scope="row">{name(one.month)}</th>
                {columns.map(([key]) => (
                  <td key={key}>{one[key].toLocaleString(locale())}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <p className={styles.meta}>
        {t(
          "Recalled: answers that were given with memories. Named: answers that name one as a source.",
        )}
      </p>
    </div>
  );
}
