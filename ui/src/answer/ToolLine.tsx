import {
  Check,
  ChevronRight,
  CircleAlert,
  CircleHelp,
  CircleX,
  Globe,
  LoaderCircle,
  type LucideIcon,
} from "lucide-react";
import { type SyntheticEvent, useState } from "react";
import { t } from "../i18n";
import type { ToolPart, ToolState } from "../run/reduce";
import { duration } from "../services/words";
import { originOf, receiptOf, titleOfTool } from "./parts";
import { ToolInside } from "./ToolInside";
import css from "./ToolLine.module.css";

const faces: Record<ToolState, LucideIcon> = {
  running: LoaderCircle,
  waiting: CircleHelp,
  done: Check,
  failed: CircleAlert,
  unknown: CircleHelp,
};

const stateName = (state: ToolState): string =>
  ({
    running: t("working"),
    waiting: t("waiting for approval"),
    done: t("done"),
    failed: t("failed"),
    unknown: t("outcome unknown"),
  })[state];

function Progress({ tool }: { tool: ToolPart }) {
  if (tool.state !== "running" || tool.progress === null) return null;
  return (
    <>
      {tool.fraction !== null && (
        <progress
          max={1}
          value={tool.fraction}
          aria-label={t("Progress: {label}", { label: tool.label })}
        />
      )}
      <span className={`${css.progress} clip`}>{tool.progress}</span>
    </>
  );
}

/** One call: what it was in plain words and how long it took; opened, what went in and what came out. */
export function ToolLine({ tool }: { tool: ToolPart }) {
  const rejected = tool.decision === "reject";
  const Icon = rejected ? CircleX : faces[tool.state];
  const stays = (tool.state === "failed" && !rejected) || tool.state === "unknown";
  const [chosen, setChosen] = useState<boolean | null>(null);
  const open = chosen ?? stays;
  const toggled = (event: SyntheticEvent<HTMLDetailsElement>) => {
    if (event.currentTarget.open !== open) setChosen(event.currentTarget.open);
  };
  const { server, label } = titleOfTool(tool);
  return (
    <details
      className={css.tool}
      data-tool={rejected ? "rejected" : tool.state}
      open={open}
      onToggle={toggled}
    >
      <summary>
        <ChevronRight size={14} className={css.turner} aria-hidden />
        <Icon size={15} aria-hidden className={css.state} />
        <span className="visually-hidden">
          {rejected ? t("rejected") : stateName(tool.state)}:{" "}
        </span>
        {server && <span className={css.server}>{server}</span>}
        <span className={css.label}>{label}</span>
        {tool.decision && <span className={css.receipt}>{receiptOf(tool)}</span>}
        <Progress tool={tool} />
        {tool.untrusted && (
          <span className={`${css.receipt} ${css.outside}`}>
            <Globe size={13} aria-hidden />
            {originOf(tool).mark}
          </span>
        )}
        {tool.durationMs !== null && !rejected && (
          <span className={css.took}>{duration(tool.durationMs)}</span>
        )}
      </summary>
      {open && <ToolInside tool={tool} />}
    </details>
  );
}
