import { Folder, Ghost, PanelRight, SlidersHorizontal, TextAlignStart } from "lucide-react";
import { useState } from "react";
import type { Conversation } from "../../api/types";
import { t } from "../../i18n";
import { IconButton } from "../../kit/Button";
import type { Session } from "../../run/session";
import type { SessionView } from "../../run/view";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";
import { ContextRing } from "./ContextRing";
import { ConversationMenu, titleOf, useConversationMenu } from "./ConversationMenu";
import { TitleField } from "./list/ConversationRow";
import { chosenIn, ModelDialog } from "./ModelDialog";
import { TemporaryMark } from "./TemporaryMark";

type HeadProps = {
  session: Session;
  view: SessionView;
  panelOpen: boolean;
  panelUseful: boolean;
  onPanel: () => void;
  onList: (() => void) | undefined;
};

/** A new chat is temporary or not until something is said in it. */
function GhostToggle({ temporary }: { temporary: boolean }) {
  const { router } = useApp();
  return (
    <IconButton
      icon={Ghost}
      label={t("Temporary chat")}
      aria-pressed={temporary}
      onClick={() => router.go(temporary ? "/" : "/temporary")}
    />
  );
}

/** What answers here, where that was chosen; before anything is said it is chosen here, too. */
function ModelButton({ view, onOpen }: { view: SessionView; onOpen: () => void }) {
  const { model, system } = chosenIn(view);
  const said = [model, system && t("own instructions")].filter(Boolean).join(" · ");
  if (!said) {
    if (view.id) return null;
    return (
      <IconButton icon={SlidersHorizontal} label={t("Model and instructions")} onClick={onOpen} />
    );
  }
  return (
    <button
      type="button"
      className="chip chosen-model"
      title={system || undefined}
      onClick={onOpen}
    >
      <SlidersHorizontal size={14} aria-hidden />
      <span className="visually-hidden">{t("Model and instructions")}: </span>
      <span className="clip">{said}</span>
    </button>
  );
}

type HeadMenuProps = { item: Conversation; onRename: () => void; onModel: () => void };

function HeadMenu({ item, ...parts }: HeadMenuProps) {
  return <ConversationMenu item={item} items={useConversationMenu(item, parts)} />;
}

/** What is not read yet, or not there, is no new chat. */
function headingOf({ id }: SessionView, conversation: Conversation | null, temporary: boolean) {
  if (id && !conversation) return t("Conversation");
  return !id && temporary ? t("Temporary chat") : titleOf(conversation);
}

export function ChatHead(props: HeadProps) {
  const { session, view, panelOpen, panelUseful, onPanel, onList } = props;
  const [renaming, setRenaming] = useState(false);
  const [choosing, setChoosing] = useState(false);
  const { conversations } = useApp();
  const { items, projects } = useStore(conversations.store);
  const conversation = items.find((item) => item.id === view.id) ?? view.conversation;
  const temporary = Boolean((view.conversation ?? view.begin).temporary);
  const { project } = conversation ?? view.begin;
  return (
    <header className="chat-head">
      {onList && <IconButton icon={TextAlignStart} label={t("Conversations")} onClick={onList} />}
      {conversation && renaming ? (
        <TitleField item={conversation} onDone={() => setRenaming(false)} />
      ) : (
        <h1 className="clip">{headingOf(view, conversation, temporary)}</h1>
      )}
      {temporary && <TemporaryMark />}
      {conversation?.origin && (
        <span className="origin-mark">{t("From {origin}", { origin: conversation.origin })}</span>
      )}
      {conversation && !renaming && (
        <HeadMenu
          item={conversation}
          onRename={() => setRenaming(true)}
          onModel={() => setChoosing(true)}
        />
      )}
      {project && (
        <span className="chip project-mark" title={t("Project")}>
          <Folder size={14} aria-hidden />
          <span className="visually-hidden">{t("Project")}: </span>
          <span className="clip">{projects.find(({ id }) => id === project)?.name ?? project}</span>
        </span>
      )}
      <span className="gap" />
      <ModelButton view={view} onOpen={() => setChoosing(true)} />
      <ContextRing view={view} />
      {!view.id && <GhostToggle temporary={temporary} />}
      {panelUseful && (
        <IconButton
          icon={PanelRight}
          label={t("What this answer used and changed")}
          aria-pressed={panelOpen}
          onClick={onPanel}
        />
      )}
      {choosing && <ModelDialog session={session} view={view} onClose={() => setChoosing(false)} />}
    </header>
  );
}
