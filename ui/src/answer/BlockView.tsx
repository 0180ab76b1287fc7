import { TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { t } from "../i18n";
import type { Run, ToolPart } from "../run/reduce";
import css from "./BlockView.module.css";
import { LazyMarkdown } from "./LazyMarkdown";
import type { Block } from "./parts";
import raw from "./raw.module.css";

type BlockProps = {
  block: Block;
  /** What is shown of a text. */
  textOf: (block: Extract<Block, { type: "text" }>) => string;
  toolsOf: (tools: readonly ToolPart[]) => ReactNode;
  /** More of its words are on their way. */
  grows: boolean;
};

/** One piece of an answer: its words, its reasoning, what was done for it, or what went less well. */
export function BlockView({ block, textOf, toolsOf, grows }: BlockProps) {
  switch (block.type) {
    case "text":
      return <LazyMarkdown text={textOf(block)} grows={grows} />;
    case "reasoning":
      return (
        <details className={css.reasoning}>
          <summary>{t("Reasoning")}</summary>
          <p>{block.text}</p>
        </details>
      );
    case "tools":
      return toolsOf(block.tools);
    case "warning":
      return (
        <p className={css.aside}>
          <TriangleAlert size={15} aria-hidden />
          {block.message}
        </p>
      );
    case "unknown":
      return (
        <details className={css.reasoning}>
          <summary>{t("An event that this page cannot show yet")}</summary>
          <pre className={raw.text}>{JSON.stringify(block.event, null, 2)}</pre>
        </details>
      );
  }
}

/** True while nothing of what is shown moves by itself. */
function isThinking(run: Run): boolean {
  const last = run.parts.at(-1);
  return !last || (last.type === "tool" && last.state !== "running") || last.type === "warning";
}

/** Says that an answer goes on while nothing else shows it. */
export function Thinking({ run }: { run: Run }) {
  if (!isThinking(run)) return null;
  return (
    <p className={css.thinking}>
      <i />
      {run.parts.length ? t("Continuing") : t("Thinking")}
    </p>
  );
}
