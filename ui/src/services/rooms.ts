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
  { name: "Tools", long: "Tools and their rules", path: "/settings/tools", icon: Wrench },
  { name: "Tool servers", long: "Tool servers (MCP)", path: "/settings/servers", icon: Plug },
  { name: "Recent calls", long: "Recent tool calls", path: "/settings/calls", icon: History },
  { name: "Keys", long: "Keys and users", path: "/settings/keys", icon: KeyRound },
  { name: "Import", long: "Import your history", path: "/settings/import", icon: FileUp },
];

/** The rooms, in the order of the rail. */
export const rooms: readonly Room[] = [
  { id: "chat", name: "Chat", path: "/", icon: MessageSquareText, key: "go-chat" },
  { id: "today", name: "Today", path: "/today", icon: Sun, key: "go-today" },
  { id: "memory", name: "Memory", path: "/memory", icon: Brain, key: "go-memory" },
  { id: "vault", name: "Vault", path: "/vault", icon: FolderTree, key: "go-vault" },
  { id: "documents", name: "Documents", path: "/documents", icon: FileText, key: "go-documents" },
  { id: "tasks", name: "Tasks", path: "/tasks", icon: ListTodo, key: "go-tasks" },
  { id: "calendar", name: "Calendar", path: "/calendar", icon: CalendarDays, key: "go-calendar" },
  { id: "schedules", name: "Schedules", path: "/schedules", icon: AlarmClock, key: "go-schedules" },
  { id: "settings", name: "Settings", path: "/settings", icon: Settings, key: "go-settings" },
];
