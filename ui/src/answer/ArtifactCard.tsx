import { Shapes } from "lucide-react";
import { useEffect, useRef } from "react";
import { t } from "../i18n";
import { NARROW, useMedia } from "../kit/pieces";
import type { ToolPart } from "../run/reduce";
import { useApp } from "../services/context";
import css from "./ArtifactCard.module.css";
import { artifactIn } from "./parts";

type CardProps = {
  tool: ToolPart;
  /** It is being made now: it opens by itself where there is room beside the answer. */
  isLive: boolean;
};

/** What a call made, to be opened beside the conversation. */
export function ArtifactCard({ tool, isLive }: CardProps) {
  const { pane } = useApp();
  const isNarrow = useMedia(NARROW);
  const made = artifactIn(tool);
  const shown = useRef(!isLive || isNarrow);
  const { id, version } = made ?? {};
  useEffect(() => {
    if (!id || shown.current) return;
    shown.current = true;
    pane.offer({ artifact: id, version });
  }, [id, version, pane]);
  if (!made || !id) return null;
  return (
    <button type="button" className={css.card} onClick={() => pane.show({ artifact: id, version })}>
      <Shapes size={20} strokeWidth={1.75} aria-hidden />
      <span className={css.words}>
        <strong>{made.title || t("Artifact")}</strong>
        <small>{t("Version {number} · open beside the chat", { number: version })}</small>
      </span>
    </button>
  );
}
