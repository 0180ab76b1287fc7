// What was suggested and waits for its owner: a line each, answered with one key.
import { Check, Inbox, Pencil, X } from "lucide-react";
import { useRef, useState } from "react";
import type { Memory } from "../../api/types";
import { Button } from "../../kit/Button";
import { Empty, Keys, ProblemNotice, Skeleton } from "../../kit/pieces";
import { useListKeys } from "../../kit/useListKeys";
import { fullDate, shortDate } from "../../services/words";
import { MemoryForm } from "./MemoryForm";
import { MemoryHead } from "./MemoryHead";
import { Source } from "./Source";
import { useMemories } from "./useMemories";
import { type MemoryActions, useMemoryActions } from "./useMemoryActions";
import { categoryName } from "./words";

const suggested = { query: "", category: "", state: "suggested" };

export function Review() {
  const { memories, more, read } = useMemories(suggested);
  const actions = useMemoryActions();
  const [editing, setEditing] = useState<string | null>(null);
  const list = useRef<HTMLUListElement>(null);
  /** Those that are shown until the list is read again. */
  const decided = useRef(new Set<string>());
  const { items, cursor, status, problem } = memories;
  /** Decides about one; the focus goes to its neighbour, so that a key can answer the next. */
  const decide = async (id: string, decision: (id: string) => Promise<boolean>) => {
    if (decided.current.has(id)) return;
    decided.current.add(id);
    const at = items.findIndex((item) => item.id === id);
    const waits = (item: Memory) => !decided.current.has(item.id);
    const next = items.slice(at + 1).find(waits) ?? items.slice(0, at).findLast(waits);
    if (next) list.current?.querySelector<HTMLElement>(`[data-row="${next.id}"]`)?.focus();
    if (!(await decision(id))) decided.current.delete(id);
  };
  useListKeys(list, {
    edit: setEditing,
    accept: (id) => void decide(id, actions.accept),
    remove: (id) => void decide(id, actions.reject),
  });
  return (
    <div className="page memory-room">
      <div className="page-inner">
        <MemoryHead />
        {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
        {status === "loading" && <Skeleton lines={5} label="Loading the suggestions" />}
        {items.length > 0 && (
          <p className="memory-count">
            Nothing here is used in answers until you accept it. <Keys combo="a" /> accepts,{" "}
            <Keys combo="x" /> rejects, <Keys combo="e" /> edits.
          </p>
        )}
      </div>
      {status === "ready" && !items.length && (
        <Empty icon={Inbox} title="Nothing to review">
          <p>
            Facts that you may not have said yourself, for example from web pages, wait here until
            you accept or reject them.
          </p>
        </Empty>
      )}
      <div className="memory-list scroll">
        <div className="page-inner">
          <ul ref={list} aria-label="Suggested memories">
            {items.map((memory) => (
              <li key={memory.id} className="suggestion">
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
          {cursor && <Button onClick={() => void more()}>Show more</Button>}
        </div>
      </div>
    </div>
  );
}

type SuggestionProps = {
  memory: Memory;
  actions: MemoryActions;
  editing: boolean;
  onEdit: (on: boolean) => void;
  onDecide: (decision: (id: string) => Promise<boolean>) => void;
};

function Suggestion({ memory, actions, editing, onEdit, onDecide }: SuggestionProps) {
  const at = Date.parse(memory.created_at);
  if (editing) {
    // Corrected in the owner's own words, it is the owner's own: accepted with the same step.
    const save = async (draft: Parameters<MemoryActions["add"]>[0]) =>
      (await actions.add(draft)) && (await actions.reject(memory.id));
    return <MemoryForm memory={memory} onSave={save} onClose={() => onEdit(false)} />;
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: rows are walked with j and k
    <article data-row={memory.id} tabIndex={0} aria-label={memory.content}>
      <p className="content">{memory.content}</p>
      <p className="meta">
        <span>{categoryName(memory.category)}</span>
        <time dateTime={memory.created_at} title={fullDate(at)}>
          {shortDate(at)}
        </time>
        <Source source={memory.sources[0]} />
      </p>
      <div className="actions">
        <Button icon={Check} onClick={() => onDecide(actions.accept)}>
          Accept
        </Button>
        <Button icon={X} look="quiet" onClick={() => onDecide(actions.reject)}>
          Reject
        </Button>
        <Button icon={Pencil} look="quiet" onClick={() => onEdit(true)}>
          Edit
        </Button>
      </div>
    </article>
  );
}
