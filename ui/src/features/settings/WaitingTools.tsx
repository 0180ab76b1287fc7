import type { McpServerShown } from "../../api/types";
import { Button } from "../../kit/Button";
import { Notice } from "../../kit/pieces";
import { count } from "../../services/words";

type WaitingProps = { server: McpServerShown; busy: boolean; onAccept: () => void };

/** Tools that a server added or changed: they are not used until somebody has read what they say now. */
export function WaitingTools({ server, busy, onAccept }: WaitingProps) {
  const { waiting } = server;
  if (!waiting.length) return null;
  return (
    <Notice tone="ask">
      <strong>
        {count(waiting.length, "tool")} {waiting.length === 1 ? "waits" : "wait"} for you
      </strong>
      <span>
        New or changed by the server, and not used until you accept. The model reads what tools say
        of themselves: is this what you expect?
      </span>
      <ul className="waiting-tools">
        {waiting.map(({ name, change, description }) => (
          <li key={name}>
            <code>{name}</code> <small>{change === "new" ? "new" : "changed"}</small>
            <p>{description || "It says nothing of itself."}</p>
          </li>
        ))}
      </ul>
      <span>
        <Button disabled={busy} onClick={onAccept}>
          Accept changes
        </Button>
      </span>
    </Notice>
  );
}
