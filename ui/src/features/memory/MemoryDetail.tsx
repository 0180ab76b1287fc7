// One memory: what it says, since when and from which words, what speaks against it, who used it, and its story.
import { Eraser, Pencil, Pin, PinOff, Undo2 } from "lucide-react";
import { useCallback, useState } from "react";
import { LazyMarkdown } from "../../answer/LazyMarkdown";
import { type MemoryUses, type MessagePlace, memoryApi } from "../../api/memory";
import type { Memory } from "../../api/types";
import { t } from "../../i18n";
import { Button, IconButton } from "../../kit/Button";
import { PageHead } from "../../kit/PageHead";
import { Link, ProblemNotice, Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { useNews } from "../../services/news";
import { addressOfChat } from "../../services/router";
import { useRead } from "../../services/useRead";
import { fullDate, shortDate } from "../../services/words";
import { Doubts } from "./Doubts";
import { ForgetDialog } from "./ForgetDialog";
import { MemoryForm } from "./MemoryForm";
import styles from "./memory.module.css";
import { Part } from "./Part";
import { Story } from "./Story";
import { type MemoryActions, useMemoryActions } from "./useMemoryActions";
import {
  categoryName,
  isFormatted,
  personName,
  sourceName,
  stateName,
  talkOf,
  validity,
} from "./words";

/** A new memory, written beside the list. */
export function AddPage({ onClose }: { onClose: () => void }) {
  const actions = useMemoryActions();
  return (
    <>
      <PageHead title={t("Add a memory")} />
      <div className={`${styles.body} scroll`}>
        <MemoryForm onSave={async (draft) => Boolean(await actions.add(draft))} onClose={onClose} />
      </div>
    </>
  );
}

type DetailProps = { id: string; editing: boolean; onEdit: (id: string | null) => void };

export function MemoryDetail({ id, editing, onEdit }: DetailProps) {
  const { memoryNews, router } = useApp();
  const here = `/memory/${encodeURIComponent(id)}`;
  const ask = useCallback((signal: AbortSignal) => memoryApi.get(id, signal), [id]);
  const { value: memory, problem, read } = useRead(ask);
  useNews(memoryNews, () => read());
  const actions = useMemoryActions();
  const [asking, setAsking] = useState(false);
  const save = async (draft: Parameters<MemoryActions["add"]>[0]) => {
    const done = await actions.edit(id, draft);
    // Whoever went elsewhere meanwhile stays there.
    if (!done || router.path.get() !== here) return false;
    router.go(`/memory/${encodeURIComponent(done.memory.id)}`, true);
    return true;
  };
  return (
    <>
      <PageHead title={memory ? categoryName(memory.category) : t("Memory")}>
        {memory && (
          <Actions
            memory={memory}
            actions={actions}
            onEdit={() => onEdit(id)}
            onForget={() => setAsking(true)}
          />
        )}
      </PageHead>
      <div className={`${styles.body} scroll`}>
        {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
        {!memory && !problem && <Skeleton lines={4} label={t("Loading the memory")} />}
        {memory && !problem && (
          <section className={styles.detail} aria-label={t("This memory")}>
            {editing ? (
              <MemoryForm memory={memory} onSave={save} onClose={() => onEdit(null)} />
            ) : (
              <Statement memory={memory} />
            )}
            <Doubts memory={memory} actions={actions} />
            <Known memory={memory} />
            <Story memory={memory} actions={actions} editing={editing} />
          </section>
        )}
      </div>
      {asking && (
        <ForgetDialog
          given={{ ids: [id] }}
          onClose={(isGone) => {
            setAsking(false);
            if (isGone) router.goOn(here, "/memory", true);
          }}
        />
      )}
    </>
  );
}

type ActionsProps = {
  memory: Memory;
  actions: MemoryActions;
  onEdit: () => void;
  onForget: () => void;
};

function Actions({ memory, actions, onEdit, onForget }: ActionsProps) {
  const active = memory.state === "active";
  return (
    <>
      {active && (
        <>
          <IconButton icon={Pencil} label={t("Edit")} combo="e" onClick={onEdit} />
          <IconButton
            icon={memory.pinned ? PinOff : Pin}
            label={memory.pinned ? t("Unpin") : t("Pin")}
            aria-pressed={memory.pinned}
            onClick={() => void actions.pin(memory)}
          />
          <IconButton
            icon={Undo2}
            label={t("Retract")}
            onClick={() => void actions.retract(memory.id)}
          />
        </>
      )}
      <IconButton icon={Eraser} label={t("Forget for good")} className="fault" onClick={onForget} />
    </>
  );
}

function Statement({ memory }: { memory: Memory }) {
  const { content, state } = memory;
  return (
    <div className={`${styles.statement} ${styles[state] ?? ""}`}>
      {isFormatted(content) ? <LazyMarkdown text={content} /> : <p>{content}</p>}
    </div>
  );
}

/** What is known of it, in a few lines; who used it, and the words that it comes from. */
function Known({ memory }: { memory: Memory }) {
  const { memoryNews } = useApp();
  const ask = useCallback((signal: AbortSignal) => memoryApi.uses(memory.id, signal), [memory.id]);
  const { value: uses, look } = useRead(ask);
  useNews(memoryNews, look);
  const created = Date.parse(memory.created_at);
  const when = validity(memory);
  const facts: [string, string][] = [
    [
      t("State"),
      [stateName(memory.state), memory.pinned && t("pinned")].filter(Boolean).join(", "),
    ],
    [t("About whom"), personName(memory.about)],
    [t("Learnt"), fullDate(created)],
    ...(when ? [[t("True"), when] as [string, string]] : []),
    [t("Importance"), t("{percent} of 100", { percent: Math.round(memory.importance * 100) })],
    ...(memory.topics.length ? [[t("Topics"), memory.topics.join(", ")] as [string, string]] : []),
  ];
  return (
    <>
      <dl className={styles.facts}>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <Sources memory={memory} places={uses?.sources ?? {}} />
      {uses && <Uses uses={uses} />}
    </>
  );
}

function Sources({ memory, places }: { memory: Memory; places: Record<string, MessagePlace> }) {
  return (
    <section aria-label={t("Where it comes from")}>
      <Part>{t("Where it comes from")}</Part>
      <ul className={styles.sources}>
        {memory.sources.map((source) => {
          const place = source.message ? places[source.message] : undefined;
          const talk = talkOf(source);
          const at = source.at && Date.parse(source.at);
          return (
            <li key={`${source.kind} ${source.id} ${source.message} ${source.at}`}>
              {place && <blockquote>{place.text}</blockquote>}
              <p>
                {place ? (
                  <Link to={addressOfChat(place.conversation, place.position)}>
                    {t("In “{title}”", { title: place.title })}
                  </Link>
                ) : talk ? (
                  <Link to={addressOfChat(talk)}>{sourceName(source.kind)}</Link>
                ) : (
                  sourceName(source.kind)
                )}
                {at && <time dateTime={source.at ?? undefined}> · {shortDate(at)}</time>}
              </p>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

const FIRST_USES = 5;

function Uses({ uses }: { uses: MemoryUses }) {
  const [all, setAll] = useState(false);
  const { items } = uses;
  const cited = items.filter(({ is_cited }) => is_cited).length;
  const shown = all ? items : items.slice(0, FIRST_USES);
  return (
    <section aria-label={t("Who used it")}>
      <Part>
        {items.length
          ? t(
              "Used in {count, plural, one {# answer} other {# answers}}, named as a source in {cited}",
              {
                count: items.length,
                cited,
              },
            )
          : t("Not used in an answer yet")}
      </Part>
      <ul className={styles.uses}>
        {shown.map(({ message, conversation, position, title, at, is_cited }) => (
          <li key={message}>
            <Link to={addressOfChat(conversation, position)}>{title}</Link>
            <small>
              {" "}
              {shortDate(Date.parse(at))}
              {is_cited && ` · ${t("named as a source")}`}
            </small>
          </li>
        ))}
      </ul>
      {items.length > shown.length && (
        <Button look="quiet" onClick={() => setAll(true)}>
          {t("Show all")}
        </Button>
      )}
    </section>
  );
}
