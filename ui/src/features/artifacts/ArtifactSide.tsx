// The pane beside a conversation: what an answer made. A sheet on a phone, over the page on a tablet.
import { List, Maximize2, Minimize2, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { t } from "../../i18n";
import { IconButton } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { Divider } from "../../kit/Divider";
import { NARROW, PHONE, useMedia } from "../../kit/pieces";
import { useApp } from "../../services/context";
import type { PaneContent } from "../../services/pane";
import { remember, remembered, useStore } from "../../services/store";
import { ArtifactList } from "./ArtifactList";
import { ArtifactPane } from "./ArtifactPane";
import css from "./artifacts.module.css";
import { LoosePane, titleIn } from "./LoosePane";

const WIDTH = { least: 300, usual: 560, most: 1100 };
const KEY = "bethink.panes.artifacts";

type InsideProps = {
  content: PaneContent;
  conversation: string | null;
  onTitle: (title: string) => void;
};

function Inside({ content, conversation, onTitle }: InsideProps) {
  if ("listed" in content) return <ArtifactList content={content} conversation={conversation} />;
  if ("artifact" in content) {
    const { artifact, version } = content;
    return <ArtifactPane key={artifact} id={artifact} version={version} onTitle={onTitle} />;
  }
  return <LoosePane content={content} conversation={conversation} />;
}

function nameOf(content: PaneContent, title: string): string {
  if ("listed" in content) return t("Artifacts");
  return "artifact" in content ? title || t("Artifact") : titleIn(content);
}

export default function ArtifactSide({ conversation }: { conversation: string | null }) {
  const { pane } = useApp();
  const content = useStore(pane.store);
  const phone = useMedia(PHONE);
  const narrow = useMedia(NARROW);
  const [title, setTitle] = useState("");
  const [full, setFull] = useState(false);
  const [{ width }, setWidth] = useState(() => remembered(KEY, { width: WIDTH.usual }));
  const side = useRef<HTMLElement>(null);
  const was = useRef(conversation);
  useEffect(() => {
    // It belongs to the conversation in which it was opened; one that just got its address is the same.
    const now = pane.store.get();
    const isOf = now && "conversation" in now && now.conversation === conversation;
    if (was.current !== null && was.current !== conversation && !isOf) pane.close();
    was.current = conversation;
  }, [conversation, pane]);
  useEffect(() => {
    if (pane.isAskedFor) side.current?.focus();
  }, [pane]);
  if (!content) return null;
  const name = nameOf(content, title);
  const inside = <Inside content={content} conversation={conversation} onTitle={setTitle} />;
  if (phone) {
    return (
      <Dialog title={name} className="sheet-dialog foot" onClose={pane.close}>
        <div className={css.sheet}>{inside}</div>
      </Dialog>
    );
  }
  const look = full ? css.full : narrow ? css.over : "";
  return (
    <aside
      ref={side}
      className={`${css.side} ${look}`}
      style={{ "--side": `${width}px` } as object}
      aria-label={name}
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.defaultPrevented || !(full || narrow)) return;
        if (full) setFull(false);
        else pane.close();
      }}
    >
      {!full && (
        <Divider
          label={t("Width of {name}", { name })}
          edge="start"
          {...WIDTH}
          value={width}
          onChange={(next) => {
            setWidth({ width: next });
            remember(KEY, { width: next });
          }}
        />
      )}
      <header className={css.head}>
        <h2 className="clip">{name}</h2>
        {!("listed" in content) && (
          <IconButton
            icon={List}
            size={16}
            label={t("All artifacts")}
            onClick={() => pane.show({ listed: "here" })}
          />
        )}
        <IconButton
          icon={full ? Minimize2 : Maximize2}
          size={16}
          label={full ? t("Show beside the chat") : t("Fill the window")}
          onClick={() => setFull(!full)}
        />
        <IconButton icon={X} label={t("Close {name}", { name })} onClick={pane.close} />
      </header>
      {inside}
    </aside>
  );
}
