import { Archive, ArchiveRestore, Ellipsis, Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import type { Conversation } from "../../api/types";
import { Confirm } from "../../kit/Dialog";
import { Menu } from "../../kit/Popover";
import { useConversationActions } from "./useConversationActions";

export const titleOf = (conversation: Pick<Conversation, "title"> | null) =>
  conversation?.title || "New chat";

export function ConversationMenu({ item, onRename }: { item: Conversation; onRename: () => void }) {
  const [asking, setAsking] = useState(false);
  const { remove, setArchived } = useConversationActions();
  const archive = item.archived
    ? { label: "Unarchive", icon: ArchiveRestore, run: () => void setArchived(item.id, false) }
    : { label: "Archive", icon: Archive, run: () => void setArchived(item.id, true) };
  return (
    <>
      <Menu
        icon={Ellipsis}
        label={`More for ${titleOf(item)}`}
        items={[
          { label: "Rename", icon: Pencil, run: onRename },
          archive,
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
            “{titleOf(item)}” and its messages go for good. What was remembered from it stays in
            Memory.
          </p>
        </Confirm>
      )}
    </>
  );
}
