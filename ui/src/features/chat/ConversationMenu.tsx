import {
  Archive,
  ArchiveRestore,
  Braces,
  Ellipsis,
  FileDown,
  Pencil,
  SlidersHorizontal,
  Trash2,
} from "lucide-react";
import { useState } from "react";
import { api } from "../../api/client";
import type { Conversation } from "../../api/types";
import { Confirm } from "../../kit/Dialog";
import { Menu, type MenuItem } from "../../kit/Popover";
import { useConversationActions } from "./useConversationActions";

export const titleOf = (conversation: Pick<Conversation, "title"> | null) =>
  conversation?.title || "New chat";

/** Has the browser keep what an address answers; its name comes from the server. */
function download(address: string): void {
  const link = document.createElement("a");
  link.href = address;
  link.download = "";
  link.click();
}

type ConversationMenuProps = {
  item: Conversation;
  onRename: () => void;
  /** Where the model and the instructions can be chosen. */
  onModel?: (() => void) | undefined;
};

export function ConversationMenu({ item, onRename, onModel }: ConversationMenuProps) {
  const [asking, setAsking] = useState(false);
  const { remove, setArchived } = useConversationActions();
  const chosen: MenuItem[] = onModel
    ? [{ label: "Model and instructions", icon: SlidersHorizontal, run: onModel }]
    : [];
  const archive = item.archived
    ? { label: "Unarchive", icon: ArchiveRestore, run: () => void setArchived(item.id, false) }
    : { label: "Archive", icon: Archive, run: () => void setArchived(item.id, true) };
  const kept = item.temporary ? [] : [archive];
  const exports: MenuItem[] = [
    {
      label: "Export as Markdown",
      icon: FileDown,
      run: () => download(api.exportOf(item.id, "md")),
    },
    { label: "Export as JSON", icon: Braces, run: () => download(api.exportOf(item.id, "json")) },
  ];
  return (
    <>
      <Menu
        icon={Ellipsis}
        label={`More for ${titleOf(item)}`}
        items={[
          { label: "Rename", icon: Pencil, run: onRename },
          ...chosen,
          ...exports,
          ...kept,
          { label: "Delete", icon: Trash2, run: () => setAsking(true), fault: true },
        ]}
      />
      {asking && (
        <Confirm
          title="Delete this conversation?"
          action="Delete"
          onConfirm={() => void remove(item.id)}
          onClose={() => setAsking(false)}
        >
          <p>
            “{titleOf(item)}” and its messages are deleted for good. Memories from it stay in
            Memory.
          </p>
        </Confirm>
      )}
    </>
  );
}
