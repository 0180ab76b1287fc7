import { Copy, Download, Save } from "lucide-react";
import { useState } from "react";
import { download, fileNameOf } from "../../answer/download";
import { useCopy } from "../../answer/useCopy";
import { artifactsApi } from "../../api/artifacts";
import { t } from "../../i18n";
import { Button, IconButton } from "../../kit/Button";
import { useApp } from "../../services/context";
import type { LooseContent } from "../../services/pane";
import { ArtifactView } from "./ArtifactView";
import css from "./artifacts.module.css";
import { formatName } from "./words";

const TITLE_CHARS = 60;

/** The name of something that has none: its first heading or title. */
export function titleIn({ format, text }: LooseContent): string {
  const found = /<title>([^<]+)|<h1[^>]*>([^<]+)|^#\s+(.+)$/m.exec(text);
  const named = (found?.[1] ?? found?.[2] ?? found?.[3] ?? "").trim();
  return named.slice(0, TITLE_CHARS) || formatName(format);
}

type LooseProps = { content: LooseContent; conversation: string | null };

/** A block of an answer beside it, not kept yet. */
export function LoosePane({ content, conversation }: LooseProps) {
  const { pane, toasts } = useApp();
  const copy = useCopy();
  const [busy, setBusy] = useState(false);
  const { format, language, text } = content;
  const title = titleIn(content);
  const keep = async () => {
    if (!conversation) return;
    setBusy(true);
    try {
      const made = { title, format, content: text, conversation };
      const { id } = await artifactsApi.add(format === "code" ? { ...made, language } : made);
      pane.show({ artifact: id });
    } catch (error) {
      toasts.fault(error);
    }
    setBusy(false);
  };
  return (
    <>
      <div className={css.bar}>
        <span className={css.kind}>{title !== formatName(format) && formatName(format)}</span>
        <span className={css.gap} />
        {conversation && (
          <Button icon={Save} disabled={busy} onClick={() => void keep()}>
            {t("Keep and edit")}
          </Button>
        )}
        <IconButton
          icon={Copy}
          size={16}
          label={t("Copy its text")}
          onClick={() => copy(text, t("Text copied"))}
        />
        <IconButton
          icon={Download}
          size={16}
          label={t("Download")}
          onClick={() =>
            download(fileNameOf(format === "code" ? language : format, "artifact"), text)
          }
        />
      </div>
      <div className={css.body}>
        <ArtifactView format={format} language={language} text={text} title={title} />
      </div>
    </>
  );
}
