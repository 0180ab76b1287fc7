// What in the memory needs a look, each with what it means and what mends it; and the memory in numbers.
import { HeartPulse } from "lucide-react";
import { useState } from "react";
import { api } from "../../api/client";
import { type MemoryUsageNumbers, memoryApi } from "../../api/memory";
import type { MemoryFinding, MemoryNumbers } from "../../api/types";
import { locale, t, told } from "../../i18n";
import { Button } from "../../kit/Button";
import { PageHead } from "../../kit/PageHead";
import { Empty, Link, Notice, ProblemNotice, Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { useNews } from "../../services/news";
import { useRead } from "../../services/useRead";
import { Contradictions } from "./Contradictions";
import { useMemoriesOf } from "./Doubts";
import { LikelyDuplicates, Merging } from "./Duplicates";
import { ForgetDialog } from "./ForgetDialog";
import styles from "./memory.module.css";
import { Part } from "./Part";
import { useMemoryActions } from "./useMemoryActions";
import { categoryName } from "./words";

async function ask(signal: AbortSignal) {
  const [{ findings }, numbers, usage] = await Promise.all([
    api.memoryHealth(signal),
    api.memoryNumbers(signal),
    memoryApi.usage(signal),
  ]);
  return { findings, numbers, usage };
}

export function HealthReport() {
  const { memoryNews } = useApp();
  const { value: known, problem, read } = useRead(ask);
  useNews(memoryNews, () => read());
  return (
    <>
      <PageHead title={t("Health")}>
        <Link className="button" to="/memory/tidying">
          {t("Tidying up")}
        </Link>
        <Button look="quiet" onClick={() => void read()}>
          {t("Check again")}
        </Button>
      </PageHead>
      <div className={`${styles.body} scroll`}>
        {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
        {!known && !problem && <Skeleton lines={6} label={t("Checking the memories")} />}
        {known && (
          <>
            {known.numbers.warning && (
              <Notice tone="ask">
                <span>{told(known.numbers.warning)}</span>
              </Notice>
            )}
            {known.findings.length ? (
              <ul className={styles.findings}>
                {known.findings.map((finding) => (
                  <li key={finding.trouble}>
                    <Finding finding={finding} onAgain={() => void read()} />
                  </li>
                ))}
              </ul>
            ) : (
              <Empty icon={HeartPulse} title={t("No problems found")}>
                <p>{t("There are no duplicates, contradictions, secrets or memories in doubt.")}</p>
              </Empty>
            )}
            <Numbers numbers={known.numbers} usage={known.usage} />
          </>
        )}
      </div>
    </>
  );
}

type Words = { name: string; about: string };

/** What was found in words, and what it means. */
function wordsOf({ trouble, count, about }: MemoryFinding): Words {
  const known: Record<string, Words> = {
    duplicates: {
      name: t("Duplicates ({count})", { count }),
      about: t("They say the same as another memory, and can be merged into it."),
    },
    alike: {
      name: t("Likely duplicates ({count})", { count }),
      about: t("They say nearly the same. Merge those that mean the same; leave the others."),
    },
    contradictions: {
      name: t("Contradictions ({count})", { count }),
      about: t("Two memories say different things. Keep the one that is true."),
    },
    unsure: {
      name: t("Based on something that changed ({count})", { count }),
      about: t(
        "What these rest on was corrected or taken back. Read them, then correct or retract them.",
      ),
    },
    stale: {
      name: t("No longer true ({count})", { count }),
      about: t(
        "They were true until a day that is past. Retract them, and answers no longer use them.",
      ),
    },
    secrets: {
      name: t("Passwords and keys ({count})", { count }),
      about: t("Secrets belong into a password manager. Forget them for good."),
    },
    orphans: {
      name: t("From conversations that were deleted ({count})", { count }),
      about: t("Nothing is wrong with them; the words that they come from can no longer be read."),
    },
    broken_links: {
      name: t("Linked with a forgotten memory ({count})", { count }),
      about: t(
        "What these refer to was forgotten. Read them and correct what no longer makes sense.",
      ),
    },
    vectors: {
      name: t("Found by words only ({count})", { count }),
      about: t(
        "Things of any kind whose meaning is not worked out yet. This happens by itself while Bethink runs; check again later.",
      ),
    },
    suggested: {
      name: t("Suggestions ({count})", { count }),
      about: t("They wait for your review; answers do not use them before."),
    },
    expiring: {
      name: t("Soon too old ({count})", { count }),
      about: t(
        "They are older than memories are kept, and will be retracted. Pin those that should stay.",
      ),
    },
  };
  return known[trouble] ?? { name: `${count.toLocaleString(locale())} ${about}`, about: "" };
}

function Finding({ finding, onAgain }: { finding: MemoryFinding; onAgain: () => void }) {
  const { name, about } = wordsOf(finding);
  return (
    <section aria-label={name}>
      <Part>{name}</Part>
      <p className={styles.meta}>{about}</p>
      <Mend finding={finding} onAgain={onAgain} />
    </section>
  );
}

/** The button that mends it, and what it is about. */
function Mend({ finding, onAgain }: { finding: MemoryFinding; onAgain: () => void }) {
  const actions = useMemoryActions();
  const [open, setOpen] = useState(false);
  const { trouble, examples } = finding;
  switch (trouble) {
    case "suggested":
      return (
        <Link className="button" to="/memory/review">
          {t("Review them")}
        </Link>
      );
    case "duplicates":
      return (
        <>
          <Button onClick={() => setOpen(true)}>{t("Show what would be merged")}</Button>
          {open && <Merging onClose={() => setOpen(false)} />}
        </>
      );
    case "alike":
      return <LikelyDuplicates />;
    case "contradictions":
      return <Contradictions />;
    case "secrets":
      return (
        <>
          <Button look="fault" onClick={() => setOpen(true)}>
            {t("Show and forget them")}
          </Button>
          {open && <ForgetDialog given={{ ids: [...examples] }} onClose={() => setOpen(false)} />}
        </>
      );
    case "vectors":
      return <Button onClick={onAgain}>{t("Check again")}</Button>;
    default:
      return (
        <>
          <Examples ids={examples} />
          {trouble === "stale" || trouble === "unsure" ? (
            <Button onClick={() => void actions.batch(examples, { retract: true })}>
              {t("{count, plural, one {Retract it} other {Retract these #}}", {
                count: examples.length,
              })}
            </Button>
          ) : trouble === "expiring" ? (
            <Button onClick={() => void actions.batch(examples, { pinned: true })}>
              {t("{count, plural, one {Pin it} other {Pin these #}}", { count: examples.length })}
            </Button>
          ) : (
            examples[0] && (
              <Link className="button" to={`/memory/${encodeURIComponent(examples[0])}`}>
                {t("Open the first")}
              </Link>
            )
          )}
        </>
      );
  }
}

function Examples({ ids }: { ids: readonly string[] }) {
  const known = useMemoriesOf(ids);
  return (
    <ul className={styles.examples}>
      {[...known.values()].map(({ id, content }) => (
        <li key={id}>
          <Link to={`/memory/${encodeURIComponent(id)}`}>{content}</Link>
        </li>
      ))}
    </ul>
  );
}

function Numbers({ numbers, usage }: { numbers: MemoryNumbers; usage: MemoryUsageNumbers }) {
  const number = (value: number) => value.toLocaleString(locale());
  const most = Object.entries(numbers.categories).toSorted(([, a], [, b]) => b - a);
  const rows: [string, string][] = [
    [t("In use"), number(numbers.states.active ?? 0)],
    [t("Pinned"), number(numbers.pinned)],
    [t("In doubt"), number(numbers.doubted)],
    [t("Recalled in conversations"), number(usage.recalled)],
    [t("Answers given with memories"), number(usage.answers)],
    [t("Answers that name one as a source"), number(usage.cited)],
    [t("No longer true"), number(numbers.states.superseded ?? 0)],
    [t("Corrected"), number(numbers.states.corrected ?? 0)],
    [t("Retracted"), number(numbers.states.retracted ?? 0)],
    [
      t("On disk, with all other data"),
      `${(numbers.bytes_on_disk / 1_000_000).toLocaleString(locale(), { maximumFractionDigits: 1 })} MB`,
    ],
    ...most.map(([category, value]): [string, string] => [
      t("Category {name}", { name: categoryName(category) }),
      number(value),
    ]),
  ];
  return (
    <section className={styles.numbers} aria-label={t("In numbers")}>
      <Part>{t("In numbers")}</Part>
      <p>
        <Link to="/memory/numbers">{t("How well do you know me?")}</Link>
      </p>
      <dl className={styles.facts}>
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
