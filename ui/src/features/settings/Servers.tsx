import { api } from "../../api/client";
import type { McpServerShown } from "../../api/types";
import { ProblemNotice, Skeleton } from "../../kit/pieces";
import { useRead } from "../../services/useRead";
import { useAgain } from "../../services/useReturn";
import { NoServers } from "./NoServers";
import { ServerCard } from "./ServerCard";

const ask = (signal: AbortSignal) => api.servers(signal);
/** States that pass by themselves are looked at again. */
const PASSING: readonly McpServerShown["state"][] = ["connecting", "retrying", "sign_in"];
const AGAIN_MS = 2000;

/** Servers of tools (MCP): how each is, and what it needs. */
export function Servers() {
  const { value, problem, read, look, change } = useRead(ask);
  const passing = value?.servers.some(({ state }) => PASSING.includes(state)) ?? false;
  useAgain(passing, AGAIN_MS, look);
  if (problem) return <ProblemNotice problem={problem} onRetry={() => void read()} />;
  if (!value) return <Skeleton lines={6} label="Loading the servers" />;
  if (!value.servers.length) return <NoServers />;
  const put = (server: McpServerShown) =>
    change(({ servers }) => ({
      servers: servers.map((each) => (each.name === server.name ? server : each)),
    }));
  return (
    <>
      <p className="note lead">
        MCP servers from <code>bethink.toml</code> whose tools the model may use. Their results are
        treated as content from outside.
      </p>
      <ul className="servers" aria-label="Tool servers">
        {value.servers.map((server) => (
          <ServerCard key={server.name} server={server} onChange={put} />
        ))}
      </ul>
    </>
  );
}
