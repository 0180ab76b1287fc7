import { Copy, Download, Ellipsis, Pencil, RotateCcw, Trash2 } from "lucide-react";
import { useCallback, useState } from "react";
import { useCopy } from "../../answer/useCopy";
import { type Artifact, artifactsApi } from "../../api/artifacts";
import { locale, t } from "../../i18n";
import { IconButton } from "../../kit/Button";
import { Menu } from "../../kit/Popover";
import { ProblemNotice, Segmented, Skeleton } from "../../kit/pieces";
import { Select } from "../../kit/Select";
import { useApp } from "../../services/context";
import { useRead } from "../../services/useRead";
import { ArtifactChanges } from "./ArtifactChanges";
import { ArtifactText } from "./ArtifactText";
import { ArtifactView } from "./ArtifactView";
import css from "./artifacts.module.css";
import { RenameDialog } from "./RenameDialog";
import { downloadArtifact, useArtifactActions } from "./useArtifactActions";

type View = "view" | "text" | "changes";
type PaneProps = { id: string; version: number | undefined; onTitle: (title: string) => void };

/** The versions to choose from, the newest first. */
function Versions({ artifact, onChoose }: { artifact: Artifact; onChoose: (n: number) => void }) {
  const { id, version, number } = artifact;
  const ask = useCallback((signal: AbortSignal) => artifactsApi.versions(id, signal), [id]);
  const { value } = useRead(ask, version);
  if (version < 2) return null;
  const at = (time: string) =>
    new Date(time).toLocaleString(locale(), { dateStyle: "medium", timeStyle: "short" });
  const options = (value?.items ?? []).map((one) => ({
    value: String(one.number),
    label: t("Version {number}", { number: one.number }),
    hint: `${one.by === "owner" ? t("You") : t("Assistant")} · ${at(one.at)}`,
  }));
  return (
    <Select
      label={t("Version")}
      look="quiet"
      value={String(number)}
      face={t("Version {number}", { number })}
      options={options}
      onChange={(chosen) => onChoose(Number(chosen))}
    />
  );
}

type OpenProps = { artifact: Artifact; onChange: (now: Artifact) => void };

function Tools({ artifact, onChange }: OpenProps) {
  const { pane, toasts } = useApp();
  const copy = useCopy();
  const [renaming, setRenaming] = useState(false);
  const { remove } = useArtifactActions(pane.close);
  const { id, content, number, version, title } = artifact;
  const change = (edit: Parameters<typeof artifactsApi.change>[1]) =>
    artifactsApi.change(id, edit).then(onChange).catch(toasts.fault);
  const restore = {
    label: t("Restore version {number}", { number }),
    icon: RotateCcw,
    run: () => void change({ restore: number }),
  };
  return (
    <>
      <IconButton
        icon={Copy}
        size={16}
        label={t("Copy its text")}
        onClick={() => copy(content, t("Text copied"))}
      />
      <IconButton
        icon={Download}
        size={16}
        label={t("Download")}
        onClick={() => downloadArtifact(artifact)}
      />
      <Menu
        icon={Ellipsis}
        size={16}
        label={t("More for {title}", { title })}
        items={[
          ...(number < version ? [restore] : []),
          { label: t("Rename"), icon: Pencil, run: () => setRenaming(true) },
          { label: t("Delete"), icon: Trash2, fault: true, run: () => void remove(artifact) },
        ]}
      />
      {renaming && (
        <RenameDialog
          title={title}
          onRename={(now) => void change({ title: now })}
          onClose={() => setRenaming(false)}
        />
      )}
    </>
  );
}

function Open({ artifact, onChange, onChoose }: OpenProps & { onChoose: (n: number) => void }) {
  const { toasts } = useApp();
  const [wanted, setView] = useState<View>("view");
  const { id, content, format, language, title, number, version } = artifact;
  const isCode = format === "code";
  const view = wanted === "changes" && number < 2 ? "view" : wanted;
  const save = async (text: string) => {
    try {
      onChange(await artifactsApi.change(id, { content: text, version }));
    } catch (error) {
      toasts.fault(error);
    }
  };
  return (
    <>
      <div className={css.bar}>
        <Segmented
          label={t("What is shown")}
          value={view}
          options={[
            { value: "view" as View, label: isCode ? t("Code") : t("Preview") },
            { value: "text", label: t("Edit") },
            ...(number > 1 ? [{ value: "changes" as View, label: t("Changes") }] : []),
          ]}
          onChange={setView}
        />
        <Versions artifact={artifact} onChoose={onChoose} />
        <span className={css.gap} />
        <Tools artifact={artifact} onChange={onChange} />
      </div>
      <div className={css.body}>
        {view === "view" && (
          <ArtifactView format={format} language={language} text={content} title={title} />
        )}
        {view === "text" && (
          <ArtifactText key={`${id} ${number}`} title={title} text={content} onSave={save} />
        )}
        {view === "changes" && <ArtifactChanges id={id} number={number} text={content} />}
      </div>
    </>
  );
}

/** An artifact that is kept: as what it is, its text, its versions. */
export function ArtifactPane({ id, version, onTitle }: PaneProps) {
  const { pane } = useApp();
  const ask = useCallback(
    async (signal: AbortSignal) => {
      const found = await artifactsApi.get(id, version, signal);
      onTitle(found.title);
      return found;
    },
    [id, version, onTitle],
  );
  const { value, problem, read, change } = useRead(ask);
  if (problem) return <ProblemNotice problem={problem} onRetry={() => void read()} />;
  if (!value) return <Skeleton lines={6} label={t("Loading the artifact")} />;
  return (
    <Open
      artifact={value}
      onChoose={(chosen) => pane.show({ artifact: id, version: chosen })}
      onChange={(now) => {
        onTitle(now.title);
        if (version !== undefined) pane.show({ artifact: id });
        change(() => now);
      }}
    />
  );
}
