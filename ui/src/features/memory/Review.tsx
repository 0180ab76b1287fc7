// What was suggested and waits for its owner: answered with one key each.
import { Check, Inbox, Pencil, X } from "lucide-react";
import { useRef, useState } from "react";
import type { Memory } from "../../api/types";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { PageHead } from "../../kit/PageHead";
import { Empty, Keys, Link, ProblemNotice, Skeleton } from "../../kit/pieces";
import { useListKeys } from "../../kit/useListKeys";
import { addressOfChat } from "../../services/router";
import { fullDate, shortDate } from "../../services/words";
import { MemoryForm } from "./MemoryForm";
import styles from "./memory.module.css";
import { everything, useMemories } from "./useMemories";
import { type MemoryActions, useMemoryActions } from "./useMemoryActions";
import { categoryName, sourceName, talkOf } from "./words";

const suggested = { ...everything, state: "suggested" };

export function Review() {
  const { memories, more, read } = useMemories(suggested);
  const actions = useMemoryActions();
  const [editing, setEditing] = useState<string | null>(null);
  const list = useRef<HTMLUListElement>(null);
  /** Those that are shown until the list is read again. */
  const decided = useRef(new Set<string>());
  const { items, cursor, status, problem } = memories;
  /** Decides about one; the focus goes to its neighbour, so that a key can answer the next. */
  const decide = async (id: string, decision: (id: string) => Promise<unknown>) => {
    if (decided.current.has(id)) return;
    decided.current.add(id);
    const at = items.findIndex((item) => item.id === id);
    const waits = (item: Memory) => !decided.current.has(item.id);
    const next = items.slice(at + 1).find(waits) ?? items.slice(0, at).findLast(waits);
    if (next) list.current?.querySelector<HTMLElement>(`[data-suggested="${next.id}"]`)?.focus();
    if (!(await decision(id))) decided.current.delete(id);
  };
  useListKeys(list, {
    edit: setEditing,
    accept: (id) => void decide(id, actions.accept),
    remove: (id) => void decide(id, actions.reject),
  });
  return (
    <>
      <PageHead title={t("Review")} />
      <div className={`${styles.body} scroll`}>
        {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
        {status === "loading" && <Skeleton lines={5} label={t("Loading the suggestions")} />}
        {items.length > 0 && (
          <p className={styles.meta}>
            {t("Nothing here is used in answers until you accept it.")} <Keys combo="a" />{" "}
            {t("accepts")}, <Keys combo="x" /> {t("rejects")}, <Keys combo="e" /> {t("edits")}.
          </p>
        )}
        {status === "ready" && !items.length && (
          <Empty icon={Inbox} title={t("Nothing to review")}>
            <p>
              {t(
                "Facts that you may not have said yourself, for example from web pages, wait here until you accept or reject them.",
              )}
            </p>
          </Empty>
        )}
        <ul ref={list} className={styles.suggestions} aria-label={t("Suggested memories")}>
          {items.map((memory) => (
            <li key={memory.id}>
              <Suggestion
                memory={memory}
                actions={actions}
                editing={editing === memory.id}
                onEdit={(on) => setEditing(on ? memory.id : null)}
                onDecide={(decision) => void decide(memory.id, decision)}
              />
            </li>
          ))}
        </ul>
        {cursor && <Button onClick={() => void more()}>{t("Show more")}</Button>}
      </div>
    </>
  );
}

type SuggestionProps = {
  memory: Memory;
  actions: MemoryActions;
  editing: boolean;
  onEdit: (on: boolean) => void;
  onDecide: (decision: (id: string) => Promise<unknown>) => void;
};

function Suggestion({ memory, actions, editing, onEdit, onDecide }: SuggestionProps) {
  const at = Date.parse(memory.created_at);
  if (editing) {
    // Corrected in the owner's own words, it is the owner's own: accepted with the same step.
    const save = async (draft: Parameters<MemoryActions["add"]>[0]) =>
      Boolean((await actions.add(draft)) && (await actions.reject(memory.id)));
    return <MemoryForm memory={memory} onSave={save} onClose={() => onEdit(false)} />;
  }
  const [source] = memory.sources;
  const talk = talkOf(source);
  return (
    <article
      data-row={memory.id}
      data-suggested={memory.id}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: rows are walked with j and k
      tabIndex={0}
      aria-label={memory.content}
    >
      <p>{memory.content}</p>
      <p className={styles.meta}>
        {categoryName(memory.category)} ·{" "}
        <time dateTime={memory.created_at} title={fullDate(at)}>
          {shortDate(at)}
        </time>
        {source && " · "}
        {source &&
          (talk ? (
            <Link to={addressOfChat(talk)}>{sourceName(source.kind)}</Link>
          ) : (
            sourceName(source.kind)
          ))}
      </p>
      <div className={styles.actions}>
        <Button icon={Check} onClick={() => onDecide(actions.accept)}>
          {t("Accept")}
        </Button>
        <Button icon={X} look="quiet" onClick={() => onDecide(actions.reject)}>
          {t("Reject")}
        </Button>
        <Button icon={Pencil} look="quiet" onClick={() => onEdit(true)}>
          {t("Edit")}
        </Button>
      </div>
    </article>
  );
}
