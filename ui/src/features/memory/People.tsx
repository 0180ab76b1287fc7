// Whom memories are about: each person, pet or project with what is known of them; two names of one become one.
import { Merge, Users, X } from "lucide-react";
import { useCallback, useState } from "react";
import { type AliasShown, memoryApi } from "../../api/memory";
import type { Memory } from "../../api/types";
import { t } from "../../i18n";
import { Button, IconButton } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { PageHead } from "../../kit/PageHead";
import { Empty, Link, ProblemNotice, Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { useNews } from "../../services/news";
import { useRead } from "../../services/useRead";
import styles from "./memory.module.css";
import { Part } from "./Part";
import { useMemoryActions } from "./useMemoryActions";
import { personName } from "./words";

const OWNER = "owner";
const PAGE = 200;
const MOST = 600;
type Person = { about: string; memories: Memory[]; aliases: readonly AliasShown[] };

async function read(signal: AbortSignal): Promise<Person[]> {
  const { items: aliases } = await memoryApi.aliases(signal);
  let page = await memoryApi.list({ limit: PAGE }, signal);
  const items = [...page.items];
  while (page.cursor && items.length < MOST) {
    page = await memoryApi.list({ limit: PAGE, cursor: page.cursor }, signal);
    items.push(...page.items);
  }
  const found = new Map<string, Memory[]>();
  for (const memory of items)
    if (memory.about !== OWNER)
      found.set(memory.about, [...(found.get(memory.about) ?? []), memory]);
  return [...found]
    .map(([about, memories]) => ({
      about,
      memories,
      aliases: aliases.filter((alias) => alias.about === about),
    }))
    .toSorted((a, b) => b.memories.length - a.memories.length);
}

export function People() {
  const { memoryNews } = useApp();
  const ask = useCallback((signal: AbortSignal) => read(signal), []);
  const { value, problem, read: again, look } = useRead(ask);
  useNews(memoryNews, look);
  const [merging, setMerging] = useState<Person | null>(null);
  return (
    <>
      <PageHead title={t("People and things")} />
      <div className={`${styles.body} scroll`}>
        {problem && <ProblemNotice problem={problem} onRetry={() => void again()} />}
        {!value && !problem && <Skeleton lines={6} label={t("Loading people")} />}
        {value?.length === 0 && (
          <Empty icon={Users} title={t("Nobody else yet")}>
            <p>{t("What is known of your family, friends, pets and projects is gathered here.")}</p>
          </Empty>
        )}
        {value?.map((person) => (
          <section
            key={person.about}
            aria-label={personName(person.about)}
            className={styles.person}
          >
            <header>
              <Part>{personName(person.about)}</Part>
              {value.length > 1 && (
                <Button icon={Merge} look="quiet" onClick={() => setMerging(person)}>
                  {t("Same as…")}
                </Button>
              )}
            </header>
            {person.aliases.map((alias) => (
              <Alias key={alias.id} alias={alias} onRemoved={() => void again()} />
            ))}
            <ul>
              {person.memories.map(({ id, content }) => (
                <li key={id}>
                  <Link to={`/memory/${encodeURIComponent(id)}`}>{content}</Link>
                </li>
              ))}
            </ul>
          </section>
        ))}
      </div>
      {merging && value && (
        <SameAs
          person={merging}
          others={value.filter((one) => one !== merging)}
          onClose={() => setMerging(null)}
        />
      )}
    </>
  );
}

/** Another name of a person, which what is told by it is filed under. */
function Alias({ alias, onRemoved }: { alias: AliasShown; onRemoved: () => void }) {
  const { toasts } = useApp();
  const name = personName(alias.name);
  const remove = () => memoryApi.removeAlias(alias.id).then(onRemoved, toasts.fault);
  return (
    <p className={styles.alias}>
      {t("Also called {name}", { name })}
      <IconButton
        icon={X}
        size={15}
        label={t("{name} is somebody else", { name })}
        onClick={() => void remove()}
      />
    </p>
  );
}

type SameProps = { person: Person; others: readonly Person[]; onClose: () => void };

function SameAs({ person, others, onClose }: SameProps) {
  const actions = useMemoryActions();
  return (
    <Dialog title={t("Who is {name}?", { name: personName(person.about) })} onClose={onClose}>
      <div className="body">
        <p>
          {t(
            "What is known of both is gathered under the name that you choose, and what is told by the other from now on. This can be undone.",
          )}
        </p>
        <div className={styles.actions}>
          {others.map(({ about }) => (
            <Button
              key={about}
              onClick={() => {
                onClose();
                void actions.batch(
                  person.memories.map(({ id }) => id),
                  { about, also: person.about },
                );
              }}
            >
              {personName(about)}
            </Button>
          ))}
        </div>
        <div className="actions">
          <Button data-first onClick={onClose}>
            {t("Cancel")}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
