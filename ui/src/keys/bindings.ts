// The keys and what they do. `mod` is ⌘ on a Mac and Ctrl elsewhere; a space separates keys of a sequence.

export type Binding = {
  id: string;
  combo: string;
  label: string;
  group: "Everywhere" | "Chat" | "Lists" | "Tasks and calendar";
};

export const bindings = [
  { id: "palette", combo: "mod+k", label: "Find anything", group: "Everywhere" },
  { id: "new", combo: "mod+shift+o", label: "New chat", group: "Everywhere" },
  { id: "temporary", combo: "mod+shift+'", label: "Temporary chat", group: "Everywhere" },
  { id: "shortcuts", combo: "mod+/", label: "Show the shortcuts", group: "Everywhere" },
  { id: "go-chat", combo: "g c", label: "Go to Chat", group: "Everywhere" },
  { id: "go-today", combo: "g y", label: "Go to Today", group: "Everywhere" },
  { id: "go-memory", combo: "g m", label: "Go to Memory", group: "Everywhere" },
  { id: "go-vault", combo: "g v", label: "Go to Vault", group: "Everywhere" },
  { id: "go-documents", combo: "g d", label: "Go to Documents", group: "Everywhere" },
  { id: "go-tasks", combo: "g t", label: "Go to Tasks", group: "Everywhere" },
  { id: "go-calendar", combo: "g k", label: "Go to Calendar", group: "Everywhere" },
  { id: "go-schedules", combo: "g h", label: "Go to Schedules", group: "Everywhere" },
  { id: "go-settings", combo: "g s", label: "Go to Settings", group: "Everywhere" },
  { id: "focus-composer", combo: "shift+escape", label: "Write a message", group: "Chat" },
  { id: "stop", combo: "mod+.", label: "Stop the answer", group: "Chat" },
  { id: "copy-answer", combo: "mod+shift+c", label: "Copy the last answer", group: "Chat" },
  { id: "down", combo: "j", label: "Next", group: "Lists" },
  { id: "up", combo: "k", label: "Previous", group: "Lists" },
  { id: "edit", combo: "e", label: "Edit or rename", group: "Lists" },
  {
    id: "accept",
    combo: "a",
    label: "Accept a suggested memory; in the calendar, the agenda",
    group: "Lists",
  },
  {
    id: "remove",
    combo: "x",
    label: "Retract or reject a memory, archive a chat, remove a document",
    group: "Lists",
  },
  { id: "find", combo: "mod+f", label: "Find in the open document", group: "Lists" },
  { id: "select", combo: "s", label: "Select a document", group: "Lists" },
  { id: "create", combo: "n", label: "New task or event, in words", group: "Tasks and calendar" },
  { id: "today", combo: "t", label: "Back to today", group: "Tasks and calendar" },
  { id: "month", combo: "m", label: "Month", group: "Tasks and calendar" },
  { id: "week", combo: "w", label: "Week", group: "Tasks and calendar" },
  { id: "day", combo: "d", label: "Day", group: "Tasks and calendar" },
  { id: "undo", combo: "u", label: "Undo the last change", group: "Lists" },
] as const satisfies readonly Binding[];

export type KeyId = (typeof bindings)[number]["id"];

export const isMac = (): boolean => /Mac|iPhone|iPad/.test(navigator.platform);

const signs: Record<string, [mac: string, other: string]> = {
  mod: ["⌘", "Ctrl"],
  shift: ["⇧", "Shift"],
  alt: ["⌥", "Alt"],
  escape: ["Esc", "Esc"],
  enter: ["↩", "Enter"],
};

/** The keys of a combination as they are printed on the keyboard. */
export function printed(combo: string, mac: boolean): readonly string[] {
  return combo.split(/[+ ]/).map((key) => signs[key]?.[mac ? 0 : 1] ?? key.toUpperCase());
}
