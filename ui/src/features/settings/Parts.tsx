import {
  CircleAlert,
  CircleCheck,
  CircleDashed,
  LoaderCircle,
  type LucideIcon,
} from "lucide-react";
import type { PartHealth } from "../../api/types";

const faces: Record<PartHealth["status"], { icon: LucideIcon; word: string }> = {
  ok: { icon: CircleCheck, word: "Works" },
  off: { icon: CircleDashed, word: "Off" },
  loading: { icon: LoaderCircle, word: "Loading" },
  degraded: { icon: CircleAlert, word: "Degraded" },
};
const partNames: Record<string, string> = {
  store: "Storage",
  memory: "Memory",
  embeddings: "Search by meaning",
  model: "Language model",
  extraction: "Learning from conversations",
  bus: "Live updates",
  web: "Web",
  sandbox: "Running code",
  mcp: "Tool servers",
  redis: "Conversations in Redis",
  vault: "Vault",
  memory_agent: "Asking the vault",
  documents: "Reading documents",
  schedules: "Schedules",
  calendar: "Other calendars",
  background: "Background work",
};
export function Parts({ parts }: { parts: Readonly<Record<string, PartHealth>> }) {
  return (
    <dl className="parts">
      {Object.entries(parts).map(([name, { status, message }]) => {
        const { icon: Icon, word } = faces[status] ?? faces.degraded;
        return (
          <div key={name}>
            <Icon size={16} aria-hidden className={status} />
            <dt>{partNames[name] ?? name}</dt>
            <dd>
              {word}
              {message && `. ${message}`}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}
