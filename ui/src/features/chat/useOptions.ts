// What a name that is being typed may become: commands and prompts, files and documents, pages and collections.
import {
  FileText,
  Library,
  type LucideIcon,
  NotebookText,
  Plug,
  Slash,
  Sparkles,
  TextQuote,
} from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { api } from "../../api/client";
import { type Prompt, promptsApi } from "../../api/prompts";
import { serversApi } from "../../api/servers";
import type { ConversationFile } from "../../api/types";
import type { ServerPrompt } from "../../contract/openapi";
import { t } from "../../i18n";
import type { NamedSource } from "../../run/named";
import { bytes } from "../../services/words";
import { type Command, commands } from "./commands";
import { fitting, type Mark, type Naming } from "./completion";
import { iconOf } from "./FileChip";

/** What choosing an option means. */
export type Choice =
  | { kind: "command"; command: Command }
  | { kind: "prompt"; prompt: Prompt }
  | { kind: "foreign"; server: string; prompt: ServerPrompt }
  | { kind: "file"; file: ConversationFile }
  | { kind: "resource"; server: string; uri: string }
  | { kind: "source"; source: NamedSource }
  | { kind: "place"; path: string };

export type Option = {
  key: string;
  group: string;
  icon: LucideIcon;
  name: string;
  /** What stands behind the name of a command. */
  takes?: string | undefined;
  about?: string | undefined;
  choice: Choice;
};

type Found = { mark: Mark; options: readonly Option[] };

const SHOWN = 8;
const TYPING_PAUSE_MS = 100;
const PATIENCE_MS = 2000;
const DOCUMENTS = 20;
const LENT_MS = 30_000;

const optionOfCommand = (command: Command): Option => ({
  key: command.name,
  group: t("Commands"),
  icon: Slash,
  name: command.name,
  takes: command.takes ?? undefined,
  about: command.does,
  choice: { kind: "command", command },
});

const optionOfPrompt = (prompt: Prompt): Option => ({
  key: prompt.id,
  group: t("Prompts"),
  icon: TextQuote,
  name: prompt.name,
  about: prompt.text.replace(/\s+/g, " ").slice(0, 120),
  choice: { kind: "prompt", prompt },
});

const optionOfSource = (
  group: string,
  icon: LucideIcon,
  source: NamedSource,
  about?: string,
): Option => ({
  key: `${source.kind}:${source.id}`,
  group,
  icon,
  name: source.name,
  about,
  choice: { kind: "source", source },
});

async function promptOptions(signal: AbortSignal): Promise<readonly Option[]> {
  const { items } = await promptsApi.list(signal);
  return items.map(optionOfPrompt);
}

type Lent = { at: number; found: Promise<readonly Option[]> };
/** What servers lend, for as long as somebody types: they are not asked anew for each letter. */
const lent = new Map<string, Lent>();

/** What the servers lend; one that does not answer costs nothing else. */
function lentOptions(
  what: "resources" | "prompts",
  optionsOf: (server: string) => Promise<readonly Option[]>,
): Promise<readonly Option[]> {
  const ask = async () => {
    const { servers } = await api.servers();
    const having = servers.filter((one) => one[what] && one.state !== "off");
    const told = await Promise.allSettled(having.map(({ name }) => optionsOf(name)));
    return told.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
  };
  const known = lent.get(what);
  const held = known && Date.now() - known.at < LENT_MS ? known : { at: Date.now(), found: ask() };
  lent.set(what, held);
  return held.found;
}

const foreignPrompts = () =>
  lentOptions("prompts", async (server) => {
    const { items } = await serversApi.prompts(server);
    return items.map((prompt) => ({
      key: `${server}:${prompt.name}`,
      group: t("Prompts of {server}", { server }),
      icon: TextQuote,
      name: prompt.title || prompt.name,
      about: prompt.description,
      choice: { kind: "foreign", server, prompt },
    }));
  });

const resourceOptions = () =>
  lentOptions("resources", async (server) => {
    const { items } = await serversApi.resources(server);
    return items
      .filter(({ template }) => !template)
      .map(({ uri, name, description }) => ({
        key: `${server}:${uri}`,
        group: t("Attach from {server}", { server }),
        icon: Plug,
        name,
        about: description || uri,
        choice: { kind: "resource", server, uri },
      }));
  });

async function fileOptions(conversation: string | null): Promise<readonly Option[]> {
  if (!conversation) return [];
  const { items } = await api.files(conversation);
  return items.toReversed().map((file) => ({
    key: file.id,
    group: t("Files of this conversation"),
    icon: iconOf(file.name, file.media_type),
    name: file.name,
    about: bytes(file.size),
    choice: { kind: "file", file },
  }));
}

/** The library is asked with the last word: what it finds is fitted to all of them here. */
async function documentOptions(query: string, signal: AbortSignal): Promise<readonly Option[]> {
  const { documentsApi } = await import("../../api/documents");
  const word = query.trim().split(/\s+/).at(-1) ?? "";
  const { items } = await documentsApi.list({ query: word, limit: DOCUMENTS }, signal);
  return items.map(({ id, name, collection }) =>
    optionOfSource(t("Documents"), FileText, { kind: "document", id, name }, collection?.name),
  );
}

async function pageOptions(signal: AbortSignal): Promise<readonly Option[]> {
  const { vaultApi } = await import("../../api/vault");
  // Asked so, a vault that is not there yet is not made.
  const { items } = await vaultApi.news(0, signal);
  return items
    .filter(({ is_folder }) => !is_folder)
    .map(({ path }) => {
      const name = path.slice(path.lastIndexOf("/") + 1).replace(/\.md$/, "");
      const folder = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : undefined;
      return optionOfSource(t("Pages"), NotebookText, { kind: "page", id: path, name }, folder);
    });
}

async function collectionOptions(signal: AbortSignal): Promise<readonly Option[]> {
  const { documentsApi } = await import("../../api/documents");
  const { items } = await documentsApi.collections(signal);
  return items.map(({ id, name, documents }) =>
    optionOfSource(
      t("Knowledge bases and collections"),
      Library,
      { kind: "collection", id, name },
      t("{count, plural, one {# document} other {# documents}}", { count: documents }),
    ),
  );
}

/** A part that does not answer leaves its options out; the others are offered all the same. */
async function read(
  mark: Mark,
  query: string,
  conversation: string | null,
  signal: AbortSignal,
): Promise<readonly Option[]> {
  const parts = {
    "/": () => [promptOptions(signal)],
    "@": () => [fileOptions(conversation), documentOptions(query, signal)],
    // Collections first: they are few, and many pages would leave no room for them.
    "#": () => [collectionOptions(signal), pageOptions(signal)],
  }[mark]();
  const answers = await Promise.allSettled(parts);
  return answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
}

const lentBy = async (mark: Mark): Promise<readonly Option[]> =>
  mark === "/" ? foreignPrompts() : mark === "@" ? resourceOptions() : [];

const manage = (): Option => ({
  key: "prompts",
  group: t("Prompts"),
  icon: Sparkles,
  name: t("Your prompts"),
  about: t("Write and change them"),
  choice: { kind: "place", path: "/prompts" },
});

function offered(naming: Naming, options: readonly Option[]): readonly Option[] {
  const { mark, query } = naming;
  const named = fitting(options, query, ({ name }) => name, SHOWN);
  if (mark !== "/") return grouped(named);
  const typed = `/${query.toLowerCase()}`;
  const known = commands().filter(({ name }) => name.startsWith(typed));
  const last = "prompts".startsWith(query.toLowerCase()) ? [manage()] : [];
  return [...known.map(optionOfCommand), ...named, ...last];
}

/** Those of one group beside each other, the group of the best first. */
function grouped(options: readonly Option[]): readonly Option[] {
  const groups = [...new Set(options.map(({ group }) => group))];
  return groups.flatMap((group) => options.filter((option) => option.group === group));
}

/** The options for what is being named; null while nothing is known of them yet. */
export function useOptions(
  naming: Naming | null,
  conversation: string | null,
): readonly Option[] | null {
  const [found, setFound] = useState<Found | null>(null);
  const mark = naming?.mark ?? null;
  // Only the library is asked anew for each word.
  const asked = mark === "@" ? (naming?.query ?? "") : "";
  useEffect(() => {
    if (!mark) return;
    const abort = new AbortController();
    const timer = setTimeout(
      () => {
        // Who waits for long goes on without.
        const signal = AbortSignal.any([abort.signal, AbortSignal.timeout(PATIENCE_MS)]);
        const tell = (options: readonly Option[]) => {
          if (!abort.signal.aborted) setFound({ mark, options });
        };
        const own = read(mark, asked, conversation, signal);
        void own.then(tell);
        // Servers may be slow: what they lend comes behind the rest, whenever it comes.
        const foreign = lentBy(mark).catch(() => []);
        void Promise.all([own, foreign]).then(([first, more]) => {
          if (more.length) tell([...first, ...more]);
        });
      },
      asked ? TYPING_PAUSE_MS : 0,
    );
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [mark, asked, conversation]);
  return useMemo(() => {
    if (!naming) return null;
    const known = found?.mark === naming.mark ? found.options : null;
    const options = offered(naming, known ?? []);
    // Commands are known at once.
    return known || options.length ? options : null;
  }, [naming, found]);
}
