// One field for everything: rooms, actions, conversations by title, messages by their words, memories
// by meaning.
import {
  Brain,
  Ellipsis,
  Ghost,
  Keyboard,
  type LucideIcon,
  MessageSquareText,
  Plus,
  Quote,
  Search,
  SunMoon,
} from "lucide-react";
import { type KeyboardEvent, type ReactNode, useEffect, useId, useMemo, useState } from "react";
import { api } from "../api/client";
import type { Memory } from "../api/types";
import { useConversationActions } from "../features/chat/useConversationActions";
import { bindings } from "../keys/bindings";
import { Dialog } from "../kit/Dialog";
import { Keys } from "../kit/pieces";
import { type Services, useApp } from "../services/context";
import { rooms, settingsPages } from "../services/rooms";
import { addressOfChat } from "../services/router";
import { useStore } from "../services/store";
import { shortDate } from "../services/words";
import { Snippet, useMessages } from "./messages";

type Found = {
  key: string;
  group: string;
  icon: LucideIcon;
  text: ReactNode;
  hint?: string;
  /** What stands below the text. */
  under?: string;
  combo?: string;
  run: () => void;
  /** Choosing it leaves the field open. */
  stays?: true;
};

const comboOf = (id: string) => bindings.find((each) => each.id === id)?.combo;
const SHOWN = 8;
const TYPING_PAUSE_MS = 120;

type Going = Found & { name: string };

function places(app: Services, onShortcuts: () => void): Going[] {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const theme = app.look.store.get().theme;
  const isDark = theme === "dark" || (theme === "system" && dark);
  const entry = (key: string, icon: LucideIcon, text: string, run: () => void): Going => {
    const combo = comboOf(key);
    return { key, group: "Go to", icon, text, name: text, run, ...(combo ? { combo } : {}) };
  };
  return [
    entry("new", Plus, "New chat", () => app.router.go("/")),
    entry("temporary", Ghost, "Temporary chat", () => app.router.go("/temporary")),
    ...rooms
      .slice(1)
      .map((room) => entry(room.key, room.icon, room.name, () => app.router.go(room.path))),
    ...settingsPages.map(({ path, icon, long }) =>
      entry(path, icon, long, () => app.router.go(path)),
    ),
    entry("shortcuts", Keyboard, "Shortcuts", onShortcuts),
    entry("theme", SunMoon, isDark ? "Light theme" : "Dark theme", () =>
      app.look.choose({ theme: isDark ? "light" : "dark" }),
    ),
  ];
}

function useMemories(query: string): readonly Memory[] {
  const [found, setFound] = useState<readonly Memory[]>([]);
  useEffect(() => {
    setFound((known) => (query ? known : []));
    if (!query) return;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      api.memories({ query, limit: SHOWN }, abort.signal).then(
        (page) => setFound(page.items),
        () => undefined,
      );
    }, TYPING_PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [query]);
  return found;
}

function useFound(query: string, onShortcuts: () => void) {
  const app = useApp();
  const { items } = useStore(app.conversations.store);
  const memories = useMemories(query);
  const messages = useMessages(query);
  const { open } = useConversationActions();
  const found = useMemo(() => {
    const wanted = query.toLowerCase();
    const has = (text: string) => text.toLowerCase().includes(wanted);
    const chats = items
      .filter((each) => has(each.title ?? "New chat"))
      .slice(0, SHOWN)
      .map((each): Found => {
        const hint = shortDate(Date.parse(each.updated_at));
        const run = () => app.router.go(addressOfChat(each.id));
        const text = each.title ?? "New chat";
        return { key: each.id, group: "Conversations", icon: MessageSquareText, text, hint, run };
      });
    const said = messages.items.map((each): Found => {
      const hint = shortDate(Date.parse(each.at));
      const who = each.role === "user" ? "You" : "Bethink";
      return {
        key: each.message,
        group: "Messages",
        icon: Quote,
        text: <Snippet found={each} />,
        hint,
        under: `${who} in ${each.title}`,
        run: () => void open(each),
      };
    });
    const more: Found[] = messages.cursor
      ? [
          {
            key: "more-messages",
            group: "Messages",
            icon: Ellipsis,
            text: "More messages",
            run: messages.more,
            stays: true,
          },
        ]
      : [];
    const remembered = memories.map((each): Found => {
      const run = () => app.router.go(`/memory/${each.id}`);
      const hint = shortDate(Date.parse(each.created_at));
      return { key: each.id, group: "Memory", icon: Brain, text: each.content, hint, run };
    });
    const going = places(app, onShortcuts).filter((each) => has(each.name));
    // What is at hand comes first: what is found later moves none of it from under the Enter key.
    return [...going, ...chats, ...said, ...more, ...remembered];
  }, [query, items, memories, messages, app, open, onShortcuts]);
  return { found, problem: messages.problem };
}

export function Palette({
  onClose,
  onShortcuts,
}: {
  onClose: () => void;
  onShortcuts: () => void;
}) {
  const [query, setQuery] = useState("");
  /** What the arrows led to; it stays chosen where others are found before it. */
  const [picked, setPicked] = useState<string | null>(null);
  const list = useId();
  const { found, problem } = useFound(query.trim(), onShortcuts);
  const at = found.findIndex(({ key }) => key === picked);
  const current = found.length ? Math.max(0, at) : -1;
  const choose = (one: Found | undefined) => {
    if (!one) return;
    if (!one.stays) onClose();
    one.run();
  };
  const press = (event: KeyboardEvent) => {
    const to = { ArrowDown: current + 1, ArrowUp: current - 1 }[event.key];
    if (to !== undefined) setPicked(found.at(to % Math.max(1, found.length))?.key ?? null);
    else if (event.key === "Enter" && !event.nativeEvent.isComposing) choose(found[current]);
    else return;
    event.preventDefault();
  };
  useEffect(() => {
    document.getElementById(`${list}-${current}`)?.scrollIntoView({ block: "nearest" });
  }, [list, current]);
  return (
    <Dialog title="Find anything" bare className="palette" onClose={onClose}>
      <div className="find">
        <Search size={18} aria-hidden />
        <input
          data-first
          role="combobox"
          aria-expanded
          aria-controls={list}
          aria-activedescendant={found.length ? `${list}-${current}` : undefined}
          aria-label="Find conversations, messages, memories and rooms"
          placeholder="Find conversations, messages, memories and rooms"
          value={query}
          onChange={(event) => {
            setQuery(event.target.value);
            setPicked(null);
          }}
          onKeyDown={press}
        />
        <Keys combo="escape" />
      </div>
      <div id={list} role="listbox" aria-label="Results" className="found scroll">
        {found.map((one, i) => (
          <FoundRow
            key={one.key}
            id={`${list}-${i}`}
            one={one}
            first={one.group !== found[i - 1]?.group}
            selected={i === current}
            onChoose={() => choose(one)}
          />
        ))}
        {!found.length && (
          <p className="none">No results. Memories are searched by meaning, messages by words.</p>
        )}
        {problem && <p className="none">Messages could not be searched: {problem.title}.</p>}
      </div>
    </Dialog>
  );
}

type RowProps = { id: string; one: Found; first: boolean; selected: boolean; onChoose: () => void };

function FoundRow({ id, one, first, selected, onChoose }: RowProps) {
  const Icon = one.icon;
  return (
    <>
      {first && <h3 role="presentation">{one.group}</h3>}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the focus and takes the keys */}
      <div id={id} role="option" aria-selected={selected} tabIndex={-1} onClick={onChoose}>
        <Icon size={16} aria-hidden />
        {one.under ? (
          <span className="two-lines">
            <span>{one.text}</span>
            <small className="clip">{one.under}</small>
          </span>
        ) : (
          <span className="clip">{one.text}</span>
        )}
        {one.hint && <small>{one.hint}</small>}
        {one.combo && <Keys combo={one.combo} />}
      </div>
    </>
  );
}
