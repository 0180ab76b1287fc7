import {
  Archive,
  ArchiveRestore,
  Braces,
  CircleDot,
  Ellipsis,
  FileDown,
  FolderInput,
  Link2,
  ListChecks,
  Pencil,
  Pin,
  PinOff,
  Printer,
  ScrollText,
  Shapes,
  Trash2,
} from "lucide-react";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { api } from "../../api/client";
import type { Conversation } from "../../api/types";
import { t } from "../../i18n";
import { Confirm } from "../../kit/Dialog";
import { Menu, type MenuItem } from "../../kit/Popover";
import { useApp } from "../../services/context";
import { projectsOf } from "./list/rows";
import { useConversationActions } from "./useConversationActions";

const ShareDialog = lazy(() => import("./share/ShareDialog"));
const PrintView = lazy(() => import("./share/PrintView"));

export const titleOf = (conversation: Pick<Conversation, "title"> | null) =>
  conversation?.title || t("New chat");

/** Has the browser keep what an address answers; its name comes from the server. */
function download(address: string): void {
  const link = document.createElement("a");
  link.href = address;
  link.download = "";
  link.click();
}

type MenuParts = {
  onRename: () => void;
  /** Where several can be chosen. */
  onSelect?: (() => void) | undefined;
  /** Where instructions can be written. */
  onInstructions?: (() => void) | undefined;
  /** Where what was made can be shown beside it. */
  onArtifacts?: (() => void) | undefined;
};
type Asked = "delete" | "share" | "print" | null;
export type ConversationItems = { items: () => readonly MenuItem[]; dialog: ReactNode };

/** What can be done with a conversation, made when somebody asks for it, and the dialogs that it leads to. */
export function useConversationMenu(item: Conversation, parts: MenuParts): ConversationItems {
  const [asked, setAsked] = useState<Asked>(null);
  const actions = useConversationActions();
  const { conversations } = useApp();
  const ids = [item.id];
  const items = (): readonly MenuItem[] => {
    if (item.trashed_at) {
      return [
        { label: t("Restore"), icon: ArchiveRestore, run: () => void actions.trashAll(ids, false) },
        { label: t("Delete for good"), icon: Trash2, fault: true, run: () => setAsked("delete") },
      ];
    }
    const { projects, items: known } = conversations.store.get();
    const moves = [
      {
        label: t("No project"),
        checked: !item.project,
        run: () => void actions.moveAll(ids, null),
      },
      ...projectsOf(projects, known).map(({ id, name }) => ({
        label: name,
        checked: item.project === id,
        run: () => void actions.moveAll(ids, id),
      })),
    ];
    const kept: MenuItem[] = [
      item.pinned
        ? { label: t("Unpin"), icon: PinOff, run: () => void actions.pinAll(ids, false) }
        : { label: t("Pin"), icon: Pin, run: () => void actions.pinAll(ids, true) },
      { label: t("Move to a project"), icon: FolderInput, items: moves },
    ];
    const archive: MenuItem = item.archived
      ? {
          label: t("Unarchive"),
          icon: ArchiveRestore,
          run: () => void actions.setArchived(item.id, false),
        }
      : { label: t("Archive"), icon: Archive, run: () => void actions.setArchived(item.id, true) };
    const remove = item.temporary
      ? () => setAsked("delete")
      : () => void actions.trashAll(ids, true);
    const { onInstructions, onArtifacts, onSelect } = parts;
    return [
      { label: t("Rename"), icon: Pencil, run: parts.onRename },
      ...(onInstructions
        ? [{ label: t("Instructions"), icon: ScrollText, run: onInstructions }]
        : []),
      ...(onArtifacts ? [{ label: t("Artifacts"), icon: Shapes, run: onArtifacts }] : []),
      ...(item.temporary ? [] : kept),
      ...(onSelect ? [{ label: t("Select"), icon: ListChecks, run: onSelect }] : []),
      ...(onSelect && !item.unread
        ? [
            {
              label: t("Mark as unread"),
              icon: CircleDot,
              run: () => void actions.setUnread(item.id, true),
            },
          ]
        : []),
      { label: t("Share"), icon: Link2, run: () => setAsked("share"), apart: true },
      { label: t("Print or save as PDF"), icon: Printer, run: () => setAsked("print") },
      {
        label: t("Export as Markdown"),
        icon: FileDown,
        run: () => download(api.exportOf(item.id, "md")),
      },
      {
        label: t("Export as JSON"),
        icon: Braces,
        run: () => download(api.exportOf(item.id, "json")),
      },
      ...(item.temporary ? [] : [{ ...archive, apart: true }]),
      { label: t("Delete"), icon: Trash2, fault: true, run: remove },
    ];
  };
  const close = () => setAsked(null);
  const dialog = (
    <>
      {asked === "delete" && (
        <Confirm
          title={t("Delete this conversation?")}
          action={t("Delete for good")}
          onConfirm={() => void actions.removeAll(ids)}
          onClose={close}
        >
          <p>
            {t(
              "“{title}” and its messages are deleted for good. Memories from it stay in Memory.",
              {
                title: titleOf(item),
              },
            )}
          </p>
        </Confirm>
      )}
      <Suspense fallback={null}>
        {asked === "share" && <ShareDialog conversation={item} onClose={close} />}
        {asked === "print" && <PrintView conversation={item} onClose={close} />}
      </Suspense>
    </>
  );
  return { items, dialog };
}

export function ConversationMenu({
  item,
  items,
}: {
  item: Conversation;
  items: ConversationItems;
}) {
  return (
    <>
      <Menu
        icon={Ellipsis}
        label={t("More for {title}", { title: titleOf(item) })}
        items={items.items}
      />
      {items.dialog}
    </>
  );
}
