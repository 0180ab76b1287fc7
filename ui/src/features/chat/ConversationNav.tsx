import { Archive, ArrowLeft, MessageSquareText, Plus, Search } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Button, IconButton } from "../../kit/Button";
import { Keys, Link, ProblemNotice, Skeleton } from "../../kit/pieces";
import { useListKeys } from "../../kit/useListKeys";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";
import { ConversationRow } from "./ConversationRow";
import { grouped } from "./groups";
import { useConversationActions } from "./useConversationActions";

/** Reads the next page when its end comes into view. */
function MoreRows({ onSeen }: { onSeen: () => void }) {
  const mark = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && onSeen());
    if (mark.current) observer.observe(mark.current);
    return () => observer.disconnect();
  }, [onSeen]);
  return <div ref={mark} className="more-rows" />;
}

export function ConversationNav({ current }: { current: string | null }) {
  const { conversations } = useApp();
  const { items, cursor, loaded, problem, archived, total } = useStore(conversations.store);
  const [renaming, setRenaming] = useState<string | null>(null);
  const list = useRef<HTMLElement>(null);
  const { archive } = useConversationActions();
  const leaveArchive = () => conversations.show(false);
  useListKeys(list, { edit: setRenaming, remove: archive });
  useEffect(() => {
    void conversations.refresh();
    const look = () => document.visibilityState === "visible" && void conversations.refresh();
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, [conversations]);
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
        {!loaded && !problem && <Skeleton lines={6} label="Reading your conversations" />}
        {loaded && !items.length && (
          <p className="none">
            <MessageSquareText size={18} aria-hidden />
            {archived ? "Nothing is archived." : "What you talk about will be listed here."}
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
        {cursor && <MoreRows onSeen={conversations.more} />}
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
