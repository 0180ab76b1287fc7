import { Ghost, PanelRight, ScrollText, TextAlignStart } from "lucide-react";
import { useState } from "react";
import type { Conversation } from "../../api/types";
import { t } from "../../i18n";
import { IconButton } from "../../kit/Button";
import type { Session } from "../../run/session";
import type { SessionView } from "../../run/view";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";
import styles from "./ChatHead.module.css";
import { ContextRing } from "./ContextRing";
import { ConversationMenu, titleOf, useConversationMenu } from "./ConversationMenu";
import { chosenIn, InstructionsDialog } from "./InstructionsDialog";
import { TitleField } from "./list/ConversationRow";
import { ProjectMark } from "./ProjectMark";
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

/** What is told here beside Bethink's own prompt; before anything is said it is written here, too. */
function InstructionsButton({ view, onOpen }: { view: SessionView; onOpen: () => void }) {
  const { system } = chosenIn(view);
  const label = t("Instructions for this conversation");
  if (!system) {
    return view.id ? null : <IconButton icon={ScrollText} label={label} onClick={onOpen} />;
  }
  return (
    <button type="button" className={`chip ${styles.instructions}`} title={system} onClick={onOpen}>
      <ScrollText size={14} aria-hidden />
      <span className="visually-hidden">{label}: </span>
      <span className="clip">{system}</span>
    </button>
  );
}

type HeadMenuProps = {
  item: Conversation;
  onRename: () => void;
  onInstructions: () => void;
  onArtifacts: () => void;
};

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
  const [writing, setWriting] = useState(false);
  const { conversations, pane } = useApp();
  const { items } = useStore(conversations.store);
  const conversation = items.find((item) => item.id === view.id) ?? view.conversation;
  const temporary = Boolean((view.conversation ?? view.begin).temporary);
  const { project } = conversation ?? view.begin;
  return (
    <header className={styles.head}>
      {onList && <IconButton icon={TextAlignStart} label={t("Conversations")} onClick={onList} />}
      {conversation && renaming ? (
        <TitleField item={conversation} onDone={() => setRenaming(false)} />
      ) : (
        <h1 className="clip">
          <span dir="auto">{headingOf(view, conversation, temporary)}</span>
        </h1>
      )}
      {temporary && <TemporaryMark />}
      {conversation?.origin && (
        <span className={styles.origin}>{t("From {origin}", { origin: conversation.origin })}</span>
      )}
      {conversation && !renaming && (
        <HeadMenu
          item={conversation}
          onRename={() => setRenaming(true)}
          onInstructions={() => setWriting(true)}
          onArtifacts={() => pane.show({ listed: "here" })}
        />
      )}
      {project && <ProjectMark id={project} />}
      <span className="gap" />
      <InstructionsButton view={view} onOpen={() => setWriting(true)} />
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
      {writing && (
        <InstructionsDialog session={session} view={view} onClose={() => setWriting(false)} />
      )}
    </header>
  );
}
