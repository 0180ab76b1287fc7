import {
  CircleAlert,
  CircleCheck,
  CircleDashed,
  LoaderCircle,
  type LucideIcon,
} from "lucide-react";
import { useState } from "react";
import { api } from "../../api/client";
import type { McpServerShown } from "../../api/types";
import { Button } from "../../kit/Button";
import { useApp } from "../../services/context";
import { count, shortDate } from "../../services/words";
import { sentence, stateOf, type Tone, wayOf } from "./serverWords";
import { WaitingTools } from "./WaitingTools";

const faces: Record<Tone, LucideIcon> = {
  ok: CircleCheck,
  off: CircleDashed,
  loading: LoaderCircle,
  degraded: CircleAlert,
};

type CardProps = { server: McpServerShown; onChange: (server: McpServerShown) => void };

/** One call to the server at a time; what it answers is the server's new state. */
function useAsking({ onChange }: Pick<CardProps, "onChange">) {
  const { toasts } = useApp();
  const [busy, setBusy] = useState(false);
  const ask = async (call: Promise<McpServerShown>) => {
    setBusy(true);
    try {
      const now = await call;
      onChange(now);
      return now;
    } catch (error) {
      toasts.fault(error);
      return null;
    } finally {
      setBusy(false);
    }
  };
  return { busy, ask };
}

/** Asks for the page to sign in at, unless it is known, and opens it beside this one. */
async function openSignIn(known: string | null, ask: () => Promise<McpServerShown | null>) {
  // Opened at once, as the browser allows it after a click only.
  const page = window.open("about:blank", "_blank");
  const address = known ?? (await ask())?.sign_in ?? null;
  if (page && address && /^https?:/.test(address)) {
    page.opener = null;
    page.location.href = address;
  } else page?.close();
}

export function ServerCard({ server, onChange }: CardProps) {
  const { busy, ask } = useAsking({ onChange });
  const { name, state, reason, tools, waiting } = server;
  const { word, tone } = stateOf(state);
  const Icon = faces[tone];
  const heading = `server-${name}`;
  return (
    <li>
      <article className="server-card" aria-labelledby={heading} aria-busy={busy}>
        <header>
          <Icon size={16} className={tone} aria-hidden />
          <h2 id={heading}>{name}</h2>
          <span className="state">
            {busy ? "Checking…" : word}
            {tone === "degraded" && ` since ${shortDate(Date.parse(server.since))}`}
            {state === "retrying" && ", retrying automatically"}
          </span>
        </header>
        {reason && <p className="reason">{sentence(reason)}</p>}
        <p className="facts">
          <span>{wayOf(server.transport)}</span>
          {server.server && <span>{server.server}</span>}
          {server.protocol && <span>MCP {server.protocol}</span>}
          <span>{count(tools.length, "tool")}</span>
        </p>
        {tools.length > 0 && (
          <details className="raw">
            <summary>Tools</summary>
            <p className="names">{tools.join(", ")}</p>
          </details>
        )}
        <WaitingTools
          server={server}
          busy={busy}
          onAccept={() => void ask(api.acceptServer(name, server.digest))}
        />
        {state !== "off" && (
          <div className="actions">
            {state === "sign_in" && (
              <Button
                look="primary"
                disabled={busy}
                onClick={() => void openSignIn(server.sign_in, () => ask(api.signInToServer(name)))}
              >
                Sign in
              </Button>
            )}
            <Button disabled={busy} onClick={() => void ask(api.reconnectServer(name))}>
              {state === "idle" ? "Connect" : "Reconnect"}
              <span className="visually-hidden"> {name}</span>
            </Button>
          </div>
        )}
        {waiting.length === 0 && server.last_error && server.last_error !== reason && (
          <p className="gone">Last error: {server.last_error}</p>
        )}
      </article>
    </li>
  );
}
