// The room of conversations: the list, the one that is open, and what its answers were made of.
import { useEffect, useState } from "react";
import { t } from "../../i18n";
import { Dialog } from "../../kit/Dialog";
import { NARROW, PHONE, useMedia } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";
import { useReturn } from "../../services/useReturn";
import { ChatPage } from "./ChatPage";
import styles from "./ChatRoom.module.css";
import { ContextPanel } from "./ContextPanel";
import { ConversationNav } from "./list/ConversationNav";
import { useSeen } from "./useSeen";
import { useTabTitle } from "./useTabTitle";

type ChatRoomProps = {
  conversation: string | null;
  temporary: boolean;
  /** The position of the message to show. */
  at: number | null;
};

export function ChatRoom({ conversation, temporary, at }: ChatRoomProps) {
  const { sessions, look, pane } = useApp();
  const session = sessions.of(conversation, { temporary, at: at ?? undefined });
  useEffect(() => {
    if (at !== null) void session.show(at);
  }, [session, at]);
  useReturn(session.look);
  useEffect(() => void session.look(), [session]);
  const { panel: wanted } = useStore(look.store);
  const view = useStore(session.store);
  useSeen(view);
  useTabTitle(view);
  const empty = view.turns.length === 0;
  const run = view.turns.at(-1)?.run;
  const tells = Boolean(run?.recalled.length || run?.changed.length);
  // Somebody who asks for it sees it, also where it has nothing to say.
  const [asked, setAsked] = useState(false);
  const phone = useMedia(PHONE);
  const narrow = useMedia(NARROW);
  const [sheet, setSheet] = useState<"list" | "panel" | null>(null);
  const close = () => setSheet(null);
  const isBeside = useStore(pane.store) !== null;
  const panel = !narrow && !empty && !isBeside && (asked || (wanted && tells));
  const togglePanel = () => {
    if (narrow) return setSheet("panel");
    setAsked(!panel);
    if (panel === wanted) look.choose({ panel: !wanted });
  };
  return (
    <>
      {!phone && <ConversationNav current={conversation} />}
      <ChatPage
        key={session.key}
        session={session}
        panelOpen={panel}
        panelUseful={!empty}
        onPanel={togglePanel}
        onList={phone ? () => setSheet("list") : undefined}
      />
      {panel && <ContextPanel session={session} />}
      {phone && sheet === "list" && (
        <Dialog title={t("Conversations")} className="sheet-dialog" onClose={close}>
          {/* biome-ignore lint/a11y/useKeyWithClickEvents: follows the links inside, which take the keys */}
          {/* biome-ignore lint/a11y/noStaticElementInteractions: the same */}
          <div
            className={styles.list}
            onClick={(event) => (event.target as Element).closest("a") && close()}
          >
            <ConversationNav current={conversation} />
          </div>
        </Dialog>
      )}
      {sheet === "panel" && (
        <Dialog title={t("This answer")} className="sheet-dialog end" onClose={close}>
          <ContextPanel session={session} />
        </Dialog>
      )}
    </>
  );
}
