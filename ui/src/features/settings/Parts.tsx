import {
  CircleAlert,
  CircleCheck,
  CircleDashed,
  LoaderCircle,
  type LucideIcon,
} from "lucide-react";
import type { PartHealth } from "../../api/types";
import { t } from "../../i18n";
import { Link } from "../../kit/pieces";
import { addressOfSettings, type SettingsPage } from "../../services/router";
import styles from "./Room.module.css";
import { Told } from "./words";

export type Tone = "ok" | "off" | "loading" | "degraded";
export const toneIcons: Record<Tone, LucideIcon> = {
  ok: CircleCheck,
  off: CircleDashed,
  loading: LoaderCircle,
  degraded: CircleAlert,
};

const words = (): Record<Tone, string> => ({
  ok: t("Works"),
  off: t("Off"),
  loading: t("Loading"),
  degraded: t("Works less well"),
});

const partNames = (): Record<string, string> => ({
  store: t("Storage"),
  files: t("Files"),
  memory: t("Memory"),
  embeddings: t("Search by meaning"),
  model: t("Language model"),
  extraction: t("Learning from conversations"),
  bus: t("Live updates"),
  web: t("Web"),
  sandbox: t("Running code"),
  mcp: t("Tool servers"),
  redis: t("Conversations in Redis"),
  vault: t("Vault"),
  memory_agent: t("Asking the vault"),
  backups: t("Backups"),
  documents: t("Reading documents"),
  schedules: t("Schedules"),
  calendar: t("Other calendars"),
  background: t("Background work"),
});

/** Where a part is set. */
const places: Readonly<Record<string, SettingsPage>> = {
  memory: "memory",
  model: "model",
  extraction: "memory",
  web: "web",
  sandbox: "code",
  mcp: "servers",
  redis: "redis",
  vault: "vault",
  memory_agent: "vault",
  backups: "backups",
  documents: "documents",
};

/** Each part of the server, and how it is. */
export function Parts({ parts }: { parts: Readonly<Record<string, PartHealth>> }) {
  const names = partNames();
  return (
    <dl className={styles.health}>
      {Object.entries(parts).map(([name, { status, message }]) => {
        const tone: Tone = status in toneIcons ? status : "degraded";
        const Icon = toneIcons[tone];
        return (
          <div key={name}>
            <Icon size={16} aria-hidden className={styles[tone]} />
            <dt>
              {places[name] ? (
                <Link to={addressOfSettings(places[name])}>{names[name] ?? name}</Link>
              ) : (
                (names[name] ?? name)
              )}
            </dt>
            <dd>
              {words()[tone]}
              {message && (
                <>
                  . <Told text={message} />
                </>
              )}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}
