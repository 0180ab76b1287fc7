// A server whose tools all claim to reach nothing outside may be believed: its owner decides.
import { useState } from "react";
import { type ConfiguredServer, type ConfiguredServers, settingsApi } from "../../api/settings";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Notice } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { commandOf } from "./serverConfig";

type SuggestedProps = {
  server: ConfiguredServer;
  /** Null where the server is configured elsewhere: then the settings are named. */
  onTaken: ((servers: ConfiguredServers) => void) | null;
};

export function Suggested({ server, onTaken }: SuggestedProps) {
  const { toasts } = useApp();
  const [busy, setBusy] = useState(false);
  const { name, config, suggested } = server;
  const settings = Object.entries(suggested);
  if (!settings.length || config.trust === "owner") return null;
  const take = async (taken: NonNullable<typeof onTaken>) => {
    const confirm = commandOf(config);
    setBusy(true);
    try {
      taken(
        await settingsApi.putServer(name, { ...config, ...suggested, ...(confirm && { confirm }) }),
      );
    } catch (error) {
      toasts.fault(error);
    }
    setBusy(false);
  };
  return (
    <Notice tone="plain">
      <span>
        {t(
          "All its tools claim to reach nothing outside, such as a clock or a calculator. If you believe that, its results need not count as content from outside.",
        )}
      </span>
      {onTaken ? (
        <span>
          <Button disabled={busy} onClick={() => void take(onTaken)}>
            {t("Trust its results")}
            <span className="visually-hidden"> {name}</span>
          </Button>
        </span>
      ) : (
        <code>{settings.map(([key, value]) => `${key} = "${value}"`).join(", ")}</code>
      )}
    </Notice>
  );
}
