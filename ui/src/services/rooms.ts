import {
  Brain,
  CalendarDays,
  FileText,
  FolderTree,
  ListTodo,
  type LucideIcon,
  MessageSquareText,
  Settings,
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

/** The rooms, in the order of the rail. */
export const rooms: readonly Room[] = [
  { id: "chat", name: "Chat", path: "/", icon: MessageSquareText, key: "go-chat" },
  { id: "memory", name: "Memory", path: "/memory", icon: Brain, key: "go-memory" },
  { id: "vault", name: "Vault", path: "/vault", icon: FolderTree, key: "go-vault" },
  { id: "documents", name: "Documents", path: "/documents", icon: FileText, key: "go-documents" },
  { id: "tasks", name: "Tasks", path: "/tasks", icon: ListTodo, key: "go-tasks" },
  { id: "calendar", name: "Calendar", path: "/calendar", icon: CalendarDays, key: "go-calendar" },
  { id: "settings", name: "Settings", path: "/settings", icon: Settings, key: "go-settings" },
];
