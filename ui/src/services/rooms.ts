import {
  AlarmClock,
  Brain,
  CalendarDays,
  FileText,
  FolderTree,
  ListTodo,
  type LucideIcon,
  MessageSquareText,
  Settings,
  Sun,
} from "lucide-react";
import { useMemo } from "react";
import { t } from "../i18n";
import type { KeyId } from "../keys/bindings";
import { useApp } from "./context";
import type { Route } from "./router";
import { useStore } from "./store";

export type Room = {
  id: Exclude<Route["room"], "lost" | "setup">;
  name: string;
  path: string;
  icon: LucideIcon;
  key: KeyId;
};

/** The rooms that there are here: without those whose feature the server has switched off. */
export function useRooms(): readonly Room[] {
  const { off } = useStore(useApp().health.store);
  return useMemo(() => rooms.filter(({ id }) => !off.includes(id)), [off]);
}

/** All rooms, in the order of the rail. */
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
