// The pages of Settings: what they are called, and which groups of settings each shows. Found by name from everywhere.
import {
  AppWindow,
  BookUser,
  Bot,
  Brain,
  CalendarDays,
  Code,
  Database,
  DatabaseBackup,
  FileText,
  FileUp,
  FolderTree,
  Globe,
  History,
  Image,
  Info,
  KeyRound,
  type LucideIcon,
  Network,
  Plug,
  ShieldCheck,
  SlidersHorizontal,
  UserRound,
  Wrench,
} from "lucide-react";
import { t } from "../i18n";
import { addressOfSettings, type SettingsPage } from "./router";

export type Place = {
  page: SettingsPage;
  path: string;
  name: string;
  /** What it is about, in a sentence. */
  says: string;
  icon: LucideIcon;
  section: string;
  groups: readonly string[];
};

/** All pages, in the order of their list. */
export function settingsPlaces(): readonly Place[] {
  const place = (
    section: string,
    page: SettingsPage,
    [name, says]: readonly [name: string, says: string],
    icon: LucideIcon,
    ...groups: string[]
  ): Place => ({ section, page, name, says, icon, groups, path: addressOfSettings(page) });
  const [you, answers, reach, server] = [
    t("You"),
    t("Answers"),
    t("What Bethink may use"),
    t("This Bethink"),
  ];
  return [
    place(
      answers,
      "model",
      [t("Model"), t("Which model answers, its keys and its limits.")],
      AppWindow,
      "model",
    ),
    place(
      answers,
      "assistants",
      [t("Assistants"), t("Models with instructions of their own, under a name.")],
      Bot,
      "assistants",
    ),
    place(
      answers,
      "memory",
      [t("Memory and recall"), t("What is remembered, and what comes back in a conversation.")],
      Brain,
      "memory",
      "recall",
    ),
    place(you, "you", [t("You"), t("How Bethink speaks to you, and how it looks.")], UserRound),
    place(
      you,
      "import",
      [t("Your history"), t("Bring conversations and notes from other programs.")],
      FileUp,
    ),
    place(
      reach,
      "tools",
      [t("Tools and rules"), t("What the model may do, and whether it asks first.")],
      Wrench,
      "tools",
    ),
    place(reach, "servers", [t("Tool servers"), t("More tools, from MCP servers.")], Plug, "mcp"),
    place(reach, "web", [t("Web"), t("Searching the web and reading its pages.")], Globe, "web"),
    place(
      reach,
      "images",
      [t("Images and speech"), t("Drawing and seeing pictures, dictation, reading aloud.")],
      Image,
      "images",
      "audio",
    ),
    place(reach, "code", [t("Code"), t("Running Python in a sandbox.")], Code, "code"),
    place(
      reach,
      "documents",
      [t("Documents"), t("Reading files, and their library.")],
      FileText,
      "documents",
    ),
    place(
      reach,
      "planner",
      [t("Tasks and calendar"), t("Times, notices and what is planned.")],
      CalendarDays,
      "planner",
    ),
    place(reach, "vault", [t("Vault"), t("The folder of Markdown pages.")], FolderTree, "vault"),
    place(
      server,
      "privacy",
      [t("Privacy and data"), t("How long things are kept, what is masked, export, forgetting.")],
      ShieldCheck,
      "privacy",
    ),
    place(
      server,
      "backups",
      [t("Backups"), t("Copies of everything, and how long they are kept.")],
      DatabaseBackup,
      "backups",
    ),
    place(
      server,
      "keys",
      [t("Users and keys"), t("Who may come in, and with which key.")],
      KeyRound,
      "access",
    ),
    place(
      server,
      "redis",
      [t("Conversations in Redis"), t("A copy of conversations for other programs.")],
      Database,
      "redis",
    ),
    place(
      server,
      "connections",
      [t("Connections"), t("DIAL, addresses and the network.")],
      Network,
      "dial",
      "network",
    ),
    place(
      server,
      "advanced",
      [t("Advanced"), t("What hardly anybody needs to change.")],
      SlidersHorizontal,
      "advanced",
    ),
    place(
      server,
      "calls",
      [t("Recent calls"), t("Which tools were called, with what, and how it ended.")],
      History,
    ),
    place(server, "about", [t("About"), t("Version, health and the log of changes.")], Info),
  ];
}

/** Where first steps can be done again. */
export const setupPlace = () => ({
  name: t("Set up"),
  says: t("Model, history and a few words about you, step by step."),
  path: "/setup/model",
  icon: BookUser,
});
