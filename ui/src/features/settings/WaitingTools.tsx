import type { McpServerShown } from "../../api/types";
import { Button } from "../../kit/Button";
import { Notice } from "../../kit/pieces";
import { count } from "../../services/words";

type WaitingProps = { server: McpServerShown; busy: boolean; onAccept: () => void };

/** Tools that a server added or changed are not used, and its first ones not trusted, until somebody read them. */
export function WaitingTools({ server, busy, onAccept }: WaitingProps) {
  const { waiting, unreviewed } = server;
  const tools = [...waiting, ...unreviewed];
  if (!tools.length) return null;
  return (
    <Notice tone="ask">
      <strong>
        {count(tools.length, "tool")} {tools.length === 1 ? "needs" : "need"} your review
      </strong>
      <span>
        {waiting.length
          ? "New or changed by the server. Not used until you accept. "
          : "In use, but not reviewed: until you accept, calls that send data out ask first. "}
        The model reads these descriptions. Are they what you expect?
      </span>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls is scrolled by keys, too */}
      <ul className="waiting-tools" tabIndex={0} aria-label="Tool descriptions">
        {tools.map(({ name, change, description }) => (
          <li key={name}>
            <code>{name}</code> <small>{change === "new" ? "new" : "changed"}</small>
            <p>{description || "No description."}</p>
          </li>
        ))}
      </ul>
      <span>
        <Button disabled={busy} onClick={onAccept}>
          {waiting.length ? "Accept changes" : "Accept"}
        </Button>
      </span>
    </Notice>
  );
}
