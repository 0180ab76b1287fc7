import { Archive, ArrowLeft, MessageSquareText, Plus, Search } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Button, IconButton } from "../../kit/Button";
import { Keys, Link, ProblemNotice, Skeleton } from "../../kit/pieces";
import { useListKeys } from "../../kit/useListKeys";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";
import { useReturn } from "../../services/useReturn";
import { ConversationRow } from "./ConversationRow";
import { grouped } from "./groups";
import { useConversationActions } from "./useConversationActions";

type MoreRowsProps = { held: boolean; onSeen: () => void };

/** Reads the next page when its end comes into view; not while it is `held` by what is read already. */
function MoreRows({ held, onSeen }: MoreRowsProps) {
  const mark = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (held) return;
    const observer = new IntersectionObserver(
      (entries) => entries.at(-1)?.isIntersecting && onSeen(),
    );
    if (mark.current) observer.observe(mark.current);
    return () => observer.disconnect();
  }, [held, onSeen]);
  return <div ref={mark} className="more-rows" />;
}

export function ConversationNav({ current }: { current: string | null }) {
  const { conversations } = useApp();
  const { items, cursor, loaded, loading, problem, archived, total } = useStore(
    conversations.store,
  );
  const [renaming, setRenaming] = useState<string | null>(null);
  const list = useRef<HTMLElement>(null);
  const { archive } = useConversationActions();
  const leaveArchive = () => conversations.show(false);
  /** Archives one; the focus goes to its neighbour, so that a key reaches the next. */
  const remove = (id: string) => {
    const rows = [...(list.current?.querySelectorAll<HTMLElement>("[data-row]") ?? [])];
    const at = rows.findIndex((row) => row.dataset.row === id);
    (rows[at + 1] ?? rows[at - 1])?.querySelector("a")?.focus();
    archive(id);
  };
  useListKeys(list, { edit: setRenaming, remove });
  useReturn(conversations.refresh);
  useEffect(() => void conversations.refresh(), [conversations]);
  return (
    <nav className="conversations" aria-label="Conversations" ref={list}>
      <NavHead />
      {archived && (
        <div className="archive-head">
          <IconButton icon={ArrowLeft} label="All conversations" onClick={leaveArchive} />
          <h2>Archived</h2>
          {loaded && <span>{total.toLocaleString()}</span>}
        </div>
      )}
      <div className="rows scroll">
        {problem && !items.length && (
          <ProblemNotice problem={problem} onRetry={() => void conversations.refresh()} />
        )}
        {!loaded && !problem && <Skeleton lines={6} label="Loading your conversations" />}
        {loaded && !items.length && (
          <p className="none">
            <MessageSquareText size={18} aria-hidden />
            {archived ? "No archived conversations." : "Your conversations are listed here."}
          </p>
        )}
        {grouped(items, Date.now()).map((group) => (
          <section key={group.name} aria-label={group.name}>
            <h2>{group.name}</h2>
            <ul>
              {group.items.map((item) => (
                <ConversationRow
                  key={item.id}
                  item={item}
                  current={item.id === current}
                  renaming={renaming === item.id}
                  onRename={(on) => setRenaming(on ? item.id : null)}
                />
              ))}
            </ul>
          </section>
        ))}
        {problem && items.length > 0 && (
          <ProblemNotice problem={problem} onRetry={() => void conversations.more()} />
        )}
        {cursor && !problem && <MoreRows key={cursor} held={loading} onSeen={conversations.more} />}
      </div>
      {!archived && (
        <Button
          look="quiet"
          icon={Archive}
          className="switch-list"
          onClick={() => conversations.show(true)}
        >
          Archived
        </Button>
      )}
    </nav>
  );
}

function NavHead() {
  const { keys } = useApp();
  const openPalette = () => keys.run("palette");
  return (
    <div className="nav-head">
      <button type="button" className="input find-button" onClick={openPalette}>
        <Search size={16} aria-hidden />
        <span>Search</span>
        <Keys combo="mod+k" />
      </button>
      <Link className="button new-chat" to="/">
        <Plus size={16} aria-hidden />
        <span>New chat</span>
        <Keys combo="mod+shift+o" />
      </Link>
    </div>
  );
}
