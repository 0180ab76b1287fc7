import { useState } from "react";
import raw from "../../answer/raw.module.css";
import { api } from "../../api/client";
import type { ConfiguredServer, ConfiguredServers } from "../../api/settings";
import type { McpServerShown } from "../../api/types";
import { t, told } from "../../i18n";
import { Button } from "../../kit/Button";
import { useApp } from "../../services/context";
import { shortDate } from "../../services/words";
import { toneIcons } from "./Parts";
import { RemoveServer } from "./RemoveServer";
import styles from "./Servers.module.css";
import { Suggested } from "./Suggested";
import { holdOf, sentence, stateOf, wayOf } from "./serverWords";
import { WaitingTools } from "./WaitingTools";

type CardProps = {
  server: ConfiguredServer;
  onChange: (server: McpServerShown) => void;
  /** Null where something stronger than the page has the last word. */
  onEdit: (() => void) | null;
  onRemoved: () => void;
  onTaken: (servers: ConfiguredServers) => void;
};

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

export function ServerCard({ server, onChange, onEdit, onRemoved, onTaken }: CardProps) {
  const { busy, ask } = useAsking({ onChange });
  const { name, state, reason, tools, waiting } = server;
  const { word, tone } = stateOf(state);
  const Icon = toneIcons[tone];
  const heading = `server-${name}`;
  return (
    <li>
      <article className={styles.card} aria-labelledby={heading} aria-busy={busy}>
        <header>
          <Icon size={16} className={styles[tone]} aria-hidden />
          <h2 id={heading}>{name}</h2>
          <span className={styles.state}>
            {busy ? t("Checking…") : word}
            {tone === "degraded" &&
              ` ${t("since {time}", { time: shortDate(Date.parse(server.since)) })}`}
            {state === "retrying" && `, ${t("retrying automatically")}`}
          </span>
        </header>
        {reason && <p className={styles.reason}>{told(sentence(reason))}</p>}
        <p className={styles.facts}>
          <span>{wayOf(server.transport)}</span>
          {server.confinement && <span>{holdOf(server.confinement)}</span>}
          {server.source && server.source !== "kept" && (
            <span>{t("set by {name}", { name: server.source_name || server.source })}</span>
          )}
          {server.server && <span>{server.server}</span>}
          {server.protocol && <span>MCP {server.protocol}</span>}
          <span>{t("{count, plural, one {# tool} other {# tools}}", { count: tools.length })}</span>
        </p>
        {server.command_line && <code className={styles.line}>{server.command_line}</code>}
        {tools.length > 0 && (
          <details className={raw.raw}>
            <summary>{t("Tools")}</summary>
            <p className={styles.names}>{tools.join(", ")}</p>
          </details>
        )}
        <WaitingTools
          server={server}
          busy={busy}
          onAccept={() => void ask(api.acceptServer(name, server.digest))}
        />
        <Suggested server={server} onTaken={onEdit && onTaken} />
        <div className={styles.actions}>
          {state === "sign_in" && (
            <Button
              look="primary"
              disabled={busy}
              onClick={() => void openSignIn(server.sign_in, () => ask(api.signInToServer(name)))}
            >
              {t("Sign in")}
            </Button>
          )}
          {state !== "off" && (
            <Button disabled={busy} onClick={() => void ask(api.reconnectServer(name))}>
              {state === "idle" ? t("Connect") : t("Reconnect")}
              <span className="visually-hidden"> {name}</span>
            </Button>
          )}
          {onEdit && (
            <Button look="quiet" onClick={onEdit}>
              {t("Edit")}
              <span className="visually-hidden"> {name}</span>
            </Button>
          )}
          {onEdit && <RemoveServer name={name} onRemoved={onRemoved} />}
        </div>
        {waiting.length === 0 && server.last_error && server.last_error !== reason && (
          <p className={styles.gone}>{t("Last error: {error}", { error: server.last_error })}</p>
        )}
      </article>
    </li>
  );
}
