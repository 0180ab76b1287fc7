import { Download, Ellipsis, Pencil, Trash2 } from "lucide-react";
import { useCallback, useState } from "react";
import { type ArtifactShown, artifactsApi } from "../../api/artifacts";
import { t } from "../../i18n";
import { Menu } from "../../kit/Popover";
import { ProblemNotice, Segmented, Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import type { ListedContent } from "../../services/pane";
import { addressOfChat } from "../../services/router";
import { useStore } from "../../services/store";
import { useRead } from "../../services/useRead";
import { shortDate } from "../../services/words";
import css from "./artifacts.module.css";
import { RenameDialog } from "./RenameDialog";
import { useArtifactActions } from "./useArtifactActions";
import { formatName } from "./words";

type ListProps = { content: ListedContent; conversation: string | null };

/** What was made in this conversation, or in all of them: what changed last first. */
export function ArtifactList({ content, conversation }: ListProps) {
  const { pane } = useApp();
  const scope = conversation ? content.listed : "all";
  const of = scope === "here" ? conversation : null;
  const ask = useCallback((signal: AbortSignal) => artifactsApi.list(of, signal), [of]);
  const { value, problem, read } = useRead(ask);
  return (
    <>
      {conversation && (
        <div className={css.bar}>
          <Segmented
            label={t("Which artifacts")}
            value={scope}
            options={[
              { value: "here", label: t("This conversation") },
              { value: "all", label: t("All") },
            ]}
            onChange={(listed) => pane.show({ listed })}
          />
        </div>
      )}
      <div className={css.body}>
        {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
        {!value && !problem && <Skeleton lines={4} label={t("Loading the artifacts")} />}
        {value?.items.length === 0 && (
          <p className={css.note}>
            {t(
              "What the assistant makes is listed here: pages, drawings, documents, tables, code.",
            )}
          </p>
        )}
        <ul className={css.list} aria-label={t("Artifacts")}>
          {value?.items.map((one) => (
            <Row
              key={one.id}
              one={one}
              isHere={one.conversation === conversation}
              onChange={read}
            />
          ))}
        </ul>
      </div>
    </>
  );
}

type RowProps = { one: ArtifactShown; isHere: boolean; onChange: () => unknown };

function Row({ one, isHere, onChange }: RowProps) {
  const { pane, router, conversations } = useApp();
  const { items } = useStore(conversations.store);
  const [renaming, setRenaming] = useState(false);
  const { rename, save, remove } = useArtifactActions(onChange);
  const { id, title, format, conversation } = one;
  const open = () => {
    if (!isHere) router.go(addressOfChat(conversation));
    pane.show({ artifact: id, conversation });
  };
  const about = [
    formatName(format),
    shortDate(Date.parse(one.updated_at)),
    !isHere && items.find((each) => each.id === conversation)?.title,
  ];
  return (
    <li>
      <button type="button" className={css.row} onClick={open}>
        <span>{title}</span>
        <small>{about.filter(Boolean).join(" · ")}</small>
      </button>
      <Menu
        icon={Ellipsis}
        size={16}
        label={t("More for {title}", { title })}
        items={[
          { label: t("Rename"), icon: Pencil, run: () => setRenaming(true) },
          { label: t("Download"), icon: Download, run: () => void save(id) },
          { label: t("Delete"), icon: Trash2, fault: true, run: () => void remove(one) },
        ]}
      />
      {renaming && (
        <RenameDialog
          title={title}
          onRename={(now) => void rename(id, now)}
          onClose={() => setRenaming(false)}
        />
      )}
    </li>
  );
}
