// How this Bethink is set up, what of it works, and how the pages look. Read-only but for the looks.
import {
  CircleAlert,
  CircleCheck,
  CircleDashed,
  LoaderCircle,
  type LucideIcon,
  Monitor,
  Moon,
  Sun,
} from "lucide-react";
import { unreachable } from "../../api/client";
import type { PartHealth } from "../../api/types";
import { ProblemNotice, Segmented, Skeleton } from "../../kit/pieces";
import { ShortcutList } from "../../kit/ShortcutList";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";

const faces: Record<PartHealth["status"], { icon: LucideIcon; word: string }> = {
  ok: { icon: CircleCheck, word: "Works" },
  off: { icon: CircleDashed, word: "Off" },
  loading: { icon: LoaderCircle, word: "Loading" },
  degraded: { icon: CircleAlert, word: "Works less well" },
};
const partNames: Record<string, string> = {
  store: "Storage",
  embeddings: "Search by meaning",
  model: "Language model",
  bus: "Live updates",
};
const boundNames: Record<string, string> = {
  max_steps: "Steps",
  max_tool_calls: "Tool calls",
  max_run_tokens: "Tokens",
  max_run_cost_usd: "Cost in $",
  max_seconds: "Seconds",
  max_repeated_calls: "The same call again",
  max_message_chars: "Characters of a message",
  tool_timeout_s: "Seconds of one tool call",
};

function Parts({ parts }: { parts: Readonly<Record<string, PartHealth>> }) {
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

function Facts({ facts }: { facts: readonly (readonly [name: string, value: string])[] }) {
  return (
    <dl className="facts-of">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Looks() {
  const { look } = useApp();
  const { theme, answers } = useStore(look.store);
  return (
    <section aria-labelledby="looks">
      <h2 id="looks">Appearance</h2>
      <div className="setting">
        <span>Theme</span>
        <Segmented
          label="Theme"
          value={theme}
          onChange={(value) => look.choose({ theme: value })}
          options={[
            { value: "system", label: "System", icon: Monitor },
            { value: "light", label: "Light", icon: Sun },
            { value: "dark", label: "Dark", icon: Moon },
          ]}
        />
      </div>
      <div className="setting">
        <span>Type of answers</span>
        <Segmented
          label="Type of answers"
          value={answers}
          onChange={(value) => look.choose({ answers: value })}
          options={[
            { value: "sans", label: "Sans" },
            { value: "serif", label: "Serif" },
          ]}
        />
      </div>
    </section>
  );
}

function Setup() {
  const { health } = useApp();
  const { health: now, settings, reachable } = useStore(health.store);
  if (!now || !settings) {
    return reachable ? (
      <Skeleton lines={5} label="Reading the settings" />
    ) : (
      <ProblemNotice problem={unreachable()} onRetry={() => void health.check()} />
    );
  }
  const bounds = Object.entries(settings.bounds).map(
    ([name, value]) =>
      [boundNames[name] ?? name, value === null ? "No limit" : value.toLocaleString()] as const,
  );
  return (
    <>
      <section aria-labelledby="parts">
        <h2 id="parts">What works</h2>
        <Parts parts={now.parts} />
      </section>
      <section aria-labelledby="model">
        <h2 id="model">Model</h2>
        <Facts
          facts={[
            ["Model", settings.model ?? "None"],
            [
              "When it fails",
              settings.fallbacks.length ? settings.fallbacks.join(", then ") : "No other is asked",
            ],
          ]}
        />
        {!settings.model && <p className="note">{settings.model_help}</p>}
      </section>
      <section aria-labelledby="bounds">
        <h2 id="bounds">One answer may take at most</h2>
        <Facts facts={bounds} />
      </section>
      <section aria-labelledby="keeping">
        <h2 id="keeping">Keeping</h2>
        <Facts
          facts={[
            ["Data directory", settings.data_dir],
            ["Time zone", settings.time_zone],
            ["Memories per answer", `At most ${settings.recall_limit}`],
            ["Version", settings.version],
          ]}
        />
      </section>
    </>
  );
}

export default function SettingsRoom() {
  return (
    <div className="page scroll">
      <div className="page-inner settings">
        <header className="page-head">
          <h1>Settings</h1>
        </header>
        <p className="note">
          The looks are kept in this browser. Everything else is set where Bethink is started: by
          flag, environment or <code>bethink.toml</code>.
        </p>
        <br />
        <Looks />
        <Setup />
        <section aria-labelledby="keys">
          <h2 id="keys">Keyboard</h2>
          <ShortcutList />
        </section>
      </div>
    </div>
  );
}
