// The keys and what they do. `mod` is ⌘ on a Mac and Ctrl elsewhere; a space separates keys of a sequence.
import { t } from "../i18n";

export type Binding = {
  id: string;
  combo: string;
  /** Does the same, and cannot be changed. */
  also?: string;
  label: string;
  group: "everywhere" | "chat" | "lists" | "planner";
};

export const bindings = [
  {
    id: "palette",
    combo: "mod+k",
    group: "everywhere",
    get label() {
      return t("Find anything");
    },
  },
  {
    id: "new",
    combo: "mod+shift+o",
    group: "everywhere",
    get label() {
      return t("New chat");
    },
  },
  {
    id: "temporary",
    combo: "mod+shift+'",
    group: "everywhere",
    get label() {
      return t("Temporary chat");
    },
  },
  {
    id: "shortcuts",
    combo: "mod+/",
    also: "?",
    group: "everywhere",
    get label() {
      return t("Show the shortcuts");
    },
  },
  {
    id: "go-chat",
    combo: "g c",
    group: "everywhere",
    get label() {
      return t("Go to Chat");
    },
  },
  {
    id: "go-today",
    combo: "g y",
    group: "everywhere",
    get label() {
      return t("Go to Today");
    },
  },
  {
    id: "go-memory",
    combo: "g m",
    group: "everywhere",
    get label() {
      return t("Go to Memory");
    },
  },
  {
    id: "go-vault",
    combo: "g v",
    group: "everywhere",
    get label() {
      return t("Go to Vault");
    },
  },
  {
    id: "go-documents",
    combo: "g d",
    group: "everywhere",
    get label() {
      return t("Go to Documents");
    },
  },
  {
    id: "go-tasks",
    combo: "g t",
    group: "everywhere",
    get label() {
      return t("Go to Tasks");
    },
  },
  {
    id: "go-calendar",
    combo: "g k",
    group: "everywhere",
    get label() {
      return t("Go to Calendar");
    },
  },
  {
    id: "go-schedules",
    combo: "g h",
    group: "everywhere",
    get label() {
      return t("Go to Schedules");
    },
  },
  {
    id: "go-settings",
    combo: "g s",
    group: "everywhere",
    get label() {
      return t("Go to Settings");
    },
  },
  {
    id: "focus-composer",
    combo: "shift+escape",
    group: "chat",
    get label() {
      return t("Write a message");
    },
  },
  {
    id: "stop",
    combo: "mod+.",
    group: "chat",
    get label() {
      return t("Stop the answer");
    },
  },
  {
    id: "copy-answer",
    combo: "mod+shift+c",
    group: "chat",
    get label() {
      return t("Copy the last answer");
    },
  },
  {
    id: "down",
    combo: "j",
    group: "lists",
    get label() {
      return t("Next");
    },
  },
  {
    id: "up",
    combo: "k",
    group: "lists",
    get label() {
      return t("Previous");
    },
  },
  {
    id: "edit",
    combo: "e",
    group: "lists",
    get label() {
      return t("Edit or rename");
    },
  },
  {
    id: "accept",
    combo: "a",
    group: "lists",
    get label() {
      return t("Accept a suggested memory; in the calendar, the agenda");
    },
  },
  {
    id: "remove",
    combo: "x",
    group: "lists",
    get label() {
      return t("Retract or reject a memory, archive a chat, remove a document");
    },
  },
  {
    id: "find",
    combo: "mod+f",
    group: "lists",
    get label() {
      return t("Find in the open document");
    },
  },
  {
    id: "select",
    combo: "s",
    group: "lists",
    get label() {
      return t("Select a document");
    },
  },
  {
    id: "undo",
    combo: "u",
    group: "lists",
    get label() {
      return t("Undo the last change");
    },
  },
  {
    id: "create",
    combo: "n",
    group: "planner",
    get label() {
      return t("New task or event, in words");
    },
  },
  {
    id: "today",
    combo: "t",
    group: "planner",
    get label() {
      return t("Back to today");
    },
  },
  {
    id: "month",
    combo: "m",
    group: "planner",
    get label() {
      return t("Month");
    },
  },
  {
    id: "week",
    combo: "w",
    group: "planner",
    get label() {
      return t("Week");
    },
  },
  {
    id: "day",
    combo: "d",
    group: "planner",
    get label() {
      return t("Day");
    },
  },
] as const satisfies readonly Binding[];

export type KeyId = (typeof bindings)[number]["id"];

export const groupName = (group: Binding["group"]): string =>
  ({
    everywhere: t("Everywhere"),
    chat: t("Chat"),
    lists: t("Lists"),
    planner: t("Tasks and calendar"),
  })[group];

/** Combinations that somebody chose in the place of the usual ones; an empty one is none. */
export type Own = Readonly<Partial<Record<KeyId, string>>>;
export type Bound = { id: KeyId; combo: string };

/** What each combination does, with what somebody chose. */
export function boundWith(own: Own): readonly Bound[] {
  return bindings.flatMap((binding): Bound[] => {
    const combo = own[binding.id] ?? binding.combo;
    const also = "also" in binding ? [{ id: binding.id, combo: binding.also }] : [];
    return [...(combo ? [{ id: binding.id, combo }] : []), ...also];
  });
}

/** What has this combination already, or one that begins with it, or that it begins with. */
export function inTheWay(own: Own, id: KeyId, combo: string): KeyId | null {
  const clash = (other: string) =>
    other === combo || other.startsWith(`${combo} `) || combo.startsWith(`${other} `);
  return boundWith(own).find((each) => each.id !== id && clash(each.combo))?.id ?? null;
}

/** Combinations that browsers keep to themselves, or that a page cannot do without. */
const TAKEN = /^(tab|shift\+tab|enter|escape|arrow\w+| |mod\+(shift\+)?[ntwq]|mod\+[rl])$/;
export const isTaken = (combo: string): boolean => TAKEN.test(combo);

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
