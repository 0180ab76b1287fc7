import {
  AlarmClock,
  Brain,
  CalendarDays,
  FileText,
  FileUp,
  FolderTree,
  History,
  KeyRound,
  ListTodo,
  type LucideIcon,
  MessageSquareText,
  Plug,
  Settings,
  Sun,
  Wrench,
} from "lucide-react";
import { t } from "../i18n";
import type { KeyId } from "../keys/bindings";
import type { Route } from "./router";

export type Room = {
  id: Exclude<Route["room"], "lost">;
  name: string;
  path: string;
  icon: LucideIcon;
  key: KeyId;
};

/** Pages of Settings beside its first; found by name from everywhere. */
export const settingsPages: readonly (Pick<Room, "name" | "path" | "icon"> & { long: string })[] = [
  {
    get name() {
      return t("Tools");
    },
    get long() {
      return t("Tools and their rules");
    },
    path: "/settings/tools",
    icon: Wrench,
  },
  {
    get name() {
      return t("Tool servers");
    },
    get long() {
      return t("Tool servers (MCP)");
    },
    path: "/settings/servers",
    icon: Plug,
  },
  {
    get name() {
      return t("Recent calls");
    },
    get long() {
      return t("Recent tool calls");
    },
    path: "/settings/calls",
    icon: History,
  },
  {
    get name() {
      return t("Keys");
    },
    get long() {
      return t("Keys and users");
    },
    path: "/settings/keys",
    icon: KeyRound,
  },
  {
    get name() {
      return t("Import");
    },
    get long() {
      return t("Import your history");
    },
    path: "/settings/import",
    icon: FileUp,
  },
];

/** The rooms, in the order of the rail. */
export const rooms: readonly Room[] = [
  {
    id: "chat",
    get name() {
      return t("Chat");
    },
    path: "/",
    icon: MessageSquareText,
    key: "go-chat",
  },
  {
    id: "today",
    get name() {
      return t("Today");
    },
    path: "/today",
    icon: Sun,
    key: "go-today",
  },
  {
    id: "memory",
    get name() {
      return t("Memory");
    },
    path: "/memory",
    icon: Brain,
    key: "go-memory",
  },
  {
    id: "vault",
    get name() {
      return t("Vault");
    },
    path: "/vault",
    icon: FolderTree,
    key: "go-vault",
  },
  {
    id: "documents",
    get name() {
      return t("Documents");
    },
    path: "/documents",
    icon: FileText,
    key: "go-documents",
  },
  {
    id: "tasks",
    get name() {
      return t("Tasks");
    },
    path: "/tasks",
    icon: ListTodo,
    key: "go-tasks",
  },
  {
    id: "calendar",
    get name() {
      return t("Calendar");
    },
    path: "/calendar",
    icon: CalendarDays,
    key: "go-calendar",
  },
  {
    id: "schedules",
    get name() {
      return t("Schedules");
    },
    path: "/schedules",
    icon: AlarmClock,
    key: "go-schedules",
  },
  {
    id: "settings",
    get name() {
      return t("Settings");
    },
    path: "/settings",
    icon: Settings,
    key: "go-settings",
  },
];
