// Servers of tools (MCP): how each is, what it needs, and adding, changing and removing them.
import { Plug, Plus } from "lucide-react";
import { useState } from "react";
import { type ConfiguredServer, settingsApi } from "../../api/settings";
import type { McpServerShown } from "../../api/types";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Empty, ProblemNotice, Skeleton } from "../../kit/pieces";
import { useRead } from "../../services/useRead";
import { useAgain } from "../../services/useReturn";
import { GroupSettings } from "./GroupSettings";
import room from "./Room.module.css";
import { ServerCard } from "./ServerCard";
import { ServerDialog } from "./ServerDialog";
import styles from "./Servers.module.css";
import { useSettings } from "./useSettings";

const ask = (signal: AbortSignal) => settingsApi.servers(signal);
/** States that pass by themselves are looked at again. */
const PASSING: readonly McpServerShown["state"][] = ["connecting", "retrying", "sign_in"];
const AGAIN_MS = 2000;

export function Servers({ found }: { found: string | null }) {
  const [editing, setEditing] = useState<ConfiguredServer | "new" | null>(null);
  const { value, problem, read, look, change } = useRead(ask);
  const { find } = useSettings();
  const passing = value?.servers.some(({ state }) => PASSING.includes(state)) ?? false;
  useAgain(passing, AGAIN_MS, look);
  const mayAdd = find("mcp_servers") !== undefined;
  const put = (server: McpServerShown) =>
    change(({ servers, ...more }) => ({
      ...more,
      servers: servers.map((each) => (each.name === server.name ? { ...each, ...server } : each)),
    }));
  return (
    <>
      <div className={styles.head}>
        <p className={room.note}>
          {t(
            "MCP servers whose tools the model may use. Their results are treated as content from outside.",
          )}
        </p>
        {mayAdd && (
          <Button icon={Plus} onClick={() => setEditing("new")}>
            {t("Add a server")}
          </Button>
        )}
      </div>
      {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
      {!value && !problem && <Skeleton lines={6} label={t("Loading the servers")} />}
      {value?.servers.length === 0 && (
        <Empty icon={Plug} title={t("No tool server is set up")}>
          <p>
            {t(
              "An MCP server gives the model more tools, for example for files, calendars or code. A program runs with your rights, unless it is put into a sandbox: add only programs that you trust.",
            )}
          </p>
        </Empty>
      )}
      {value && value.servers.length > 0 && (
        <ul className={styles.list} aria-label={t("Tool servers")}>
          {value.servers.map((server) => (
            <ServerCard
              key={server.name}
              server={server}
              onChange={put}
              onEdit={mayAdd && server.editable ? () => setEditing(server) : null}
              onRemoved={() => void read()}
              onTaken={(now) => change(() => now)}
            />
          ))}
        </ul>
      )}
      <GroupSettings groups={["mcp"]} found={found} without={["mcp_servers"]} />
      {editing !== null && (
        <ServerDialog
          kept={editing === "new" ? null : editing}
          canSandbox={value?.can_sandbox ?? false}
          onClose={() => setEditing(null)}
          onSaved={(now) => {
            setEditing(null);
            change(() => now);
          }}
        />
      )}
    </>
  );
}
