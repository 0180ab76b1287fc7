import { unreachable } from "../../api/client";
import { ProblemNotice, Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";
import { Parts } from "./Parts";

const boundNames: Record<string, string> = {
  max_steps: "Steps",
  max_tool_calls: "Tool calls",
  max_run_tokens: "Tokens",
  max_run_cost_usd: "Cost in $",
  max_seconds: "Seconds",
  max_repeated_calls: "Repetitions of the same call",
  max_message_chars: "Characters per message",
  tool_timeout_s: "Seconds per tool call",
};

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

/** What is set where Bethink is started, and what of it works. */
export function Setup() {
  const { health } = useApp();
  const { health: now, settings, reachable } = useStore(health.store);
  if (!now || !settings) {
    return reachable ? (
      <Skeleton lines={5} label="Loading the settings" />
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
        <h2 id="parts">Status</h2>
        <Parts parts={now.parts ?? {}} />
      </section>
      <section aria-labelledby="model">
        <h2 id="model">Model</h2>
        <Facts
          facts={[
            ["Model", settings.model ?? "None"],
            ["Fallback", settings.fallbacks.length ? settings.fallbacks.join(", then ") : "None"],
          ]}
        />
        {!settings.model && <p className="note">{settings.model_help}</p>}
      </section>
      <section aria-labelledby="bounds">
        <h2 id="bounds">Limits per answer</h2>
        <Facts facts={bounds} />
      </section>
      <section aria-labelledby="keeping">
        <h2 id="keeping">Data</h2>
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
