// What the palette finds: what is at hand at once, and what the server knows a moment later.
import {
  Brain,
  CalendarDays,
  FileText,
  FolderTree,
  type LucideIcon,
  Shapes,
  SquareCheck,
  TextQuote,
} from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { api, json } from "../api/client";
import type { PromptList } from "../contract/openapi";
import { t } from "../i18n";
import type { KeyId } from "../keys/bindings";
import { momentWords } from "../planner/momentWords";
import type { Services } from "../services/context";
import {
  addressOfChat,
  addressOfDocument,
  addressOfEvent,
  addressOfPage,
  addressOfTasks,
} from "../services/router";
import { shortDate } from "../services/words";

export type Found = {
  key: string;
  group: string;
  icon: LucideIcon;
  text: ReactNode;
  hint?: string;
  /** What stands below the text. */
  under?: string;
  /** The shortcut that does the same. */
  binding?: KeyId;
  run: () => void;
  /** Choosing it leaves the field open. */
  stays?: true;
};

type Source = {
  id: string;
  find: (query: string, signal: AbortSignal, app: Services) => Promise<readonly Found[]>;
};

const SHOWN = 5;
const TYPING_PAUSE_MS = 120;
const DAY_MS = 86_400_000;
/** Events are found around today. */
const BEFORE_DAYS = 30;
const AFTER_DAYS = 180;

const day = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10);

/** Each room's things, in the order in which they are listed. */
const sources: readonly Source[] = [
  {
    id: "memory",
    find: async (query, signal, { router }) =>
      (await api.memories({ query, limit: SHOWN }, signal)).items.map((each) => ({
        key: each.id,
        group: t("Memory"),
        icon: Brain,
        text: each.content,
        hint: shortDate(Date.parse(each.created_at)),
        run: () => router.go(`/memory/${each.id}`),
      })),
  },
  {
    id: "vault",
    find: async (query, signal, { router }) => {
      const { vaultApi } = await import("../api/vault");
      const { items } = await vaultApi.search(query, signal);
      return items.slice(0, SHOWN).map((each) => ({
        key: `page ${each.path}`,
        group: t("Pages"),
        icon: FolderTree,
        text: each.title || each.path,
        hint: each.path,
        run: () => router.go(addressOfPage(each.path)),
      }));
    },
  },
  {
    id: "documents",
    find: async (query, signal, { router }) => {
      const { documentsApi } = await import("../api/documents");
      const { items } = await documentsApi.list({ query, limit: SHOWN }, signal);
      return items.map((each) => ({
        key: `document ${each.id}`,
        group: t("Documents"),
        icon: FileText,
        text: each.name,
        run: () => router.go(addressOfDocument(each.id)),
      }));
    },
  },
  {
    id: "tasks",
    find: async (query, signal, { router }) => {
      const { tasksApi } = await import("../api/tasks");
      const { items } = await tasksApi.list({ query, limit: SHOWN }, signal);
      return items.map((each) => ({
        key: `task ${each.id}`,
        group: t("Tasks"),
        icon: SquareCheck,
        text: each.title,
        ...(each.due_words
          ? { hint: momentWords({ at: each.due_at ?? each.due_date }, each.due_words) }
          : {}),
        run: () => router.go(addressOfTasks({ task: each.id })),
      }));
    },
  },
  {
    id: "events",
    find: async (query, signal, { router }) => {
      const { calendarApi } = await import("../api/calendar");
      const around = { start: day(-BEFORE_DAYS), end: day(AFTER_DAYS) };
      const { items } = await calendarApi.events({ ...around, query }, signal);
      return items.slice(0, SHOWN).map((each) => ({
        key: `event ${each.id}`,
        group: t("Events"),
        icon: CalendarDays,
        text: each.title,
        hint: shortDate(Date.parse(each.start)),
        run: () => router.go(addressOfEvent(each.id)),
      }));
    },
  },
  {
    id: "artifacts",
    find: async (query, signal, { router, pane }) => {
      const { artifactsApi } = await import("../api/artifacts");
      const { items } = await artifactsApi.list(null, signal);
      const wanted = query.toLowerCase();
      return items
        .filter(({ title }) => title.toLowerCase().includes(wanted))
        .slice(0, SHOWN)
        .map(({ id, title, updated_at, conversation }) => ({
          key: `artifact ${id}`,
          group: t("Artifacts"),
          icon: Shapes,
          text: title,
          hint: shortDate(Date.parse(updated_at)),
          run: () => {
            router.go(addressOfChat(conversation));
            pane.show({ artifact: id, conversation });
          },
        }));
    },
  },
  {
    id: "prompts",
    find: async (query, signal, { router, sessions }) => {
      const { items } = await json<PromptList>("GET", "/prompts", undefined, signal);
      const wanted = query.toLowerCase();
      return items
        .filter(({ name }) => name.toLowerCase().includes(wanted))
        .slice(0, SHOWN)
        .map((each) => ({
          key: `prompt ${each.id}`,
          group: t("Prompts"),
          icon: TextQuote,
          text: each.name,
          run: () => {
            // Its completion asks for what the prompt leaves open.
            sessions.of(null).draft.set(`/${each.name}`);
            router.go("/");
          },
        }));
    },
  },
];

/** What the server finds of each kind. What was found before stays until newer answers are there. */
export function useThings(query: string, app: Services): readonly Found[] {
  const [found, setFound] = useState<Readonly<Record<string, readonly Found[]>>>({});
  useEffect(() => {
    if (!query) setFound({});
    if (!query) return;
    const abort = new AbortController();
    const read = async ({ id, find }: Source) => {
      // A room that does not answer is left out; the page says it if the server is gone.
      const items = await find(query, abort.signal, app).catch(() => []);
      if (!abort.signal.aborted) setFound((now) => ({ ...now, [id]: items }));
    };
    const timer = setTimeout(() => {
      const { off } = app.health.store.get();
      for (const source of sources) if (!off.includes(source.id)) void read(source);
    }, TYPING_PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [query, app]);
  return sources.flatMap(({ id }) => found[id] ?? []);
}
