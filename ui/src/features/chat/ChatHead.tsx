import { PanelRight, TextAlignStart } from "lucide-react";
import { useState } from "react";
import { IconButton } from "../../kit/Button";
import type { SessionView } from "../../run/session";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";
import { ConversationMenu, titleOf } from "./ConversationMenu";
import { TitleField } from "./ConversationRow";

type HeadProps = {
  view: SessionView;
  panelOpen: boolean;
  panelUseful: boolean;
  onPanel: () => void;
  onList: (() => void) | undefined;
};

export function ChatHead({ view, panelOpen, panelUseful, onPanel, onList }: HeadProps) {
  const [renaming, setRenaming] = useState(false);
  const { conversations } = useApp();
  const { items } = useStore(conversations.store);
  const conversation = items.find((item) => item.id === view.id) ?? view.conversation;
  return (
    <header className="chat-head">
      {onList && <IconButton icon={TextAlignStart} label="Conversations" onClick={onList} />}
      {conversation && renaming ? (
        <TitleField item={conversation} onDone={() => setRenaming(false)} />
      ) : (
        <h1 className="clip">{titleOf(conversation)}</h1>
      )}
      {conversation && !renaming && (
        <ConversationMenu item={conversation} onRename={() => setRenaming(true)} />
      )}
      <span className="gap" />
      {panelUseful && (
        <IconButton
          icon={PanelRight}
          label="What this answer used and changed"
          aria-pressed={panelOpen}
          onClick={onPanel}
        />
      )}
    </header>
  );
}
