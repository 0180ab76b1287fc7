// One field for everything: rooms and actions, conversations by title, messages by their words, memories by meaning,
// and the things of every room.
import {
  Ellipsis,
  Ghost,
  Keyboard,
  MessageSquareText,
  NotebookPen,
  Plus,
  Quote,
  Search,
  Shapes,
  SunMoon,
  TextQuote,
} from "lucide-react";
import { type KeyboardEvent, useEffect, useId, useMemo, useState } from "react";
import { useConversationActions } from "../features/chat/useConversationActions";
import { t } from "../i18n";
import type { KeyId } from "../keys/bindings";
import { Dialog } from "../kit/Dialog";
import { Keys, KeysOf } from "../kit/pieces";
import { type Services, useApp } from "../services/context";
import { type Room, useRooms } from "../services/rooms";
import { addressOfChat, routeOf } from "../services/router";
import { settingsPlaces, setupPlace } from "../services/settingsPlaces";
import { useStore } from "../services/store";
import { shortDate } from "../services/words";
import { type Found, useThings } from "./found";
import { Snippet, useMessages } from "./messages";
import styles from "./palette.module.css";

const SHOWN = 8;
/** Conversations that are offered before anything is typed. */
const RECENT = 5;

type Going = Found & { name: string };

function places(app: Services, here: readonly Room[], onShortcuts: () => void): Going[] {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const theme = app.look.store.get().theme;
  const isDark = theme === "dark" || (theme === "system" && dark);
  const entry = (place: Omit<Going, "group" | "text">): Going => {
    return { ...place, group: t("Go to"), text: place.name };
  };
  const to = (path: string) => () => app.router.go(path);
  const today = { icon: NotebookPen, name: t("Today’s note"), run: to("/vault/today") };
  const note = here.some(({ id }) => id === "vault")
    ? [entry({ key: "today-note", ...today })]
    : [];
  const bound = (binding: KeyId) => ({ key: binding, binding });
  return [
    entry({ ...bound("new"), icon: Plus, name: t("New chat"), run: to("/") }),
    entry({ ...bound("temporary"), icon: Ghost, name: t("Temporary chat"), run: to("/temporary") }),
    ...here
      .slice(1)
      .map(({ key, icon, name, path }) => entry({ ...bound(key), icon, name, run: to(path) })),
    ...note,
    ...[...settingsPlaces(), setupPlace()].map(({ path, icon, name }) =>
      entry({ key: path, icon, name: t("Settings: {name}", { name }), run: to(path) }),
    ),
    entry({
      key: "artifacts",
      icon: Shapes,
      name: t("Artifacts"),
      run: () => {
        if (routeOf(app.router.path.get()).room !== "chat") app.router.go("/");
        app.pane.show({ listed: "all" });
      },
    }),
    entry({ key: "prompts", icon: TextQuote, name: t("Prompts"), run: to("/prompts") }),
    entry({ ...bound("shortcuts"), icon: Keyboard, name: t("Shortcuts"), run: onShortcuts }),
    entry({
      key: "theme",
      icon: SunMoon,
      name: isDark ? t("Light theme") : t("Dark theme"),
      run: () => app.look.choose({ theme: isDark ? "light" : "dark" }),
    }),
  ];
}

function useFound(query: string, onShortcuts: () => void) {
  const app = useApp();
  const { items } = useStore(app.conversations.store);
  const things = useThings(query, app);
  const here = useRooms();
  const messages = useMessages(query);
  const { open } = useConversationActions();
  const found = useMemo(() => {
    const wanted = query.toLowerCase();
    const has = (text: string) => text.toLowerCase().includes(wanted);
    const chats = items
      .filter((each) => has(each.title ?? t("New chat")))
      .slice(0, query ? SHOWN : RECENT)
      .map((each): Found => {
        const hint = shortDate(Date.parse(each.updated_at));
        const run = () => app.router.go(addressOfChat(each.id));
        const text = each.title ?? t("New chat");
        const group = query ? t("Conversations") : t("Recent");
        return { key: each.id, group, icon: MessageSquareText, text, hint, run };
      });
    const said = messages.items.map((each): Found => {
      const title = each.title ?? "";
      return {
        key: each.message,
        group: t("Messages"),
        icon: Quote,
        text: <Snippet found={each} />,
        hint: shortDate(Date.parse(each.at)),
        under:
          each.role === "user"
            ? t("You in {title}", { title })
            : t("Bethink in {title}", { title }),
        run: () => void open(each),
      };
    });
    const more: Found = {
      key: "more-messages",
      group: t("Messages"),
      icon: Ellipsis,
      text: t("More messages"),
      run: messages.more,
      stays: true,
    };
    const going = places(app, here, onShortcuts).filter((each) => has(each.name));
    // What is at hand comes first: what is found later moves none of it from under the Enter key.
    const atHand = query ? [...going, ...chats] : [...chats, ...going];
    return [...atHand, ...said, ...(messages.cursor ? [more] : []), ...things];
  }, [query, items, things, messages, app, here, open, onShortcuts]);
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
    <Dialog title={t("Find anything")} bare className={styles.palette ?? ""} onClose={onClose}>
      <div className={styles.find}>
        <Search size={18} aria-hidden />
        <input
          data-first
          role="combobox"
          aria-expanded
          aria-controls={list}
          aria-activedescendant={found.length ? `${list}-${current}` : undefined}
          aria-label={t("Find conversations, messages, memories and rooms")}
          placeholder={t("Find conversations, messages, memories and rooms")}
          value={query}
          onChange={(event) => {
            setQuery(event.target.value);
            setPicked(null);
          }}
          onKeyDown={press}
        />
        <Keys combo="escape" />
      </div>
      <div id={list} role="listbox" aria-label={t("Results")} className={`${styles.found} scroll`}>
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
          <p className={styles.none}>
            {t("No results. Memories are searched by meaning, messages by words.")}
          </p>
        )}
        {problem && (
          <p className={styles.none}>
            {t("Messages could not be searched: {why}.", { why: problem.title })}
          </p>
        )}
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
          <span className={styles.two}>
            <span>{one.text}</span>
            <small className="clip">{one.under}</small>
          </span>
        ) : (
          <span className="clip">{one.text}</span>
        )}
        {one.hint && <small className="clip">{one.hint}</small>}
        {one.binding && <KeysOf id={one.binding} />}
      </div>
    </>
  );
}
