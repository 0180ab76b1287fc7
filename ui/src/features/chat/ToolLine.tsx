import {
  Check,
  ChevronRight,
  CircleAlert,
  CircleHelp,
  CircleX,
  LoaderCircle,
  type LucideIcon,
} from "lucide-react";
import { type SyntheticEvent, useState } from "react";
import type { ToolPart, ToolState } from "../../run/reduce";
import { duration } from "../../services/words";
import { entriesOf, pretty } from "./parts";

const faces: Record<ToolState, { icon: LucideIcon; said: string }> = {
  running: { icon: LoaderCircle, said: "working" },
  waiting: { icon: CircleHelp, said: "waits for you" },
  done: { icon: Check, said: "done" },
  failed: { icon: CircleAlert, said: "failed" },
  unknown: { icon: CircleHelp, said: "outcome unknown" },
};

export function Arguments({ text }: { text: string }) {
  const entries = entriesOf(text);
  if (!entries) return text ? <pre>{text}</pre> : null;
  if (!entries.length) return null;
  return (
    <dl className="arguments">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{name.replaceAll("_", " ")}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Raw({ tool }: { tool: ToolPart }) {
  return (
    <details className="raw">
      <summary>Raw</summary>
      <pre>{`${tool.name} ${tool.call}\n${pretty(tool.arguments)}\n\n${tool.error ? `${tool.error}\n` : ""}${pretty(tool.text)}`}</pre>
    </details>
  );
}

const receipts = {
  approve: "approved",
  edit: "approved with your changes",
  reject: "rejected",
} as const;

/** One call: what it was in plain words and how long it took; opened, what went in and what came out. */
export function ToolLine({ tool }: { tool: ToolPart }) {
  const rejected = tool.decision === "reject";
  const { icon, said } = faces[tool.state];
  const Icon = rejected ? CircleX : icon;
  const stays = (tool.state === "failed" && !rejected) || tool.state === "unknown";
  const [chosen, setChosen] = useState<boolean | null>(null);
  const open = chosen ?? stays;
  const toggled = (event: SyntheticEvent<HTMLDetailsElement>) => {
    if (event.currentTarget.open !== open) setChosen(event.currentTarget.open);
  };
  return (
    <details
      className={`tool ${rejected ? "rejected" : tool.state}`}
      open={open}
      onToggle={toggled}
    >
      <summary>
        <ChevronRight size={14} className="turner" aria-hidden />
        <Icon size={15} aria-hidden className="state" />
        <span className="visually-hidden">{said}: </span>
        <span className="label">{tool.label}</span>
        {tool.decision && <span className="receipt">{receipts[tool.decision]}</span>}
        {tool.progress && tool.state === "running" && (
          <span className="progress clip">{tool.progress}</span>
        )}
        {tool.durationMs !== null && !rejected && (
          <span className="took">{duration(tool.durationMs)}</span>
        )}
      </summary>
      <div className="inside">
        <Arguments text={tool.arguments} />
        {tool.state === "unknown" && (
          <p className="result">
            It was started, and nobody saw how it ended. It is not repeated by itself.
          </p>
        )}
        {tool.text && <p className="result">{tool.text}</p>}
        {tool.attachments.map((file) => (
          <p key={file.url} className="result">
            {file.name}
          </p>
        ))}
        <Raw tool={tool} />
      </div>
    </details>
  );
}
