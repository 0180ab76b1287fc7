import { Wrench } from "lucide-react";
import { useState } from "react";
import { api } from "../../api/client";
import type { KnownTool, Rule } from "../../api/types";
import { Empty, ProblemNotice, Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { count } from "../../services/words";
import { ToolRow } from "./ToolRow";
import { bySource, type ToolGroup } from "./toolWords";
import { useRead } from "./useRead";

const ask = (signal: AbortSignal) => api.tools(signal);
/** With more tools than these, a field finds one. */
const MANY = 12;

/** What the agent may use, and whether it must ask before. */
export function Tools() {
  const { toasts } = useApp();
  const { value, problem, read, set } = useRead(ask);
  const [wanted, setWanted] = useState("");
  if (problem) return <ProblemNotice problem={problem} onRetry={() => void read()} />;
  if (!value) return <Skeleton lines={8} label="Reading the tools" />;
  if (!value.items.length) {
    return (
      <Empty icon={Wrench} title="There are no tools">
        <p>They are switched off where Bethink is started.</p>
      </Empty>
    );
  }
  const choose = async (tool: KnownTool, rule: Rule) => {
    const with_ = (chosen: Rule) =>
      set({
        items: value.items.map((each) => (each === tool ? { ...each, rule: chosen } : each)),
      });
    with_(rule);
    try {
      await api.setRule(tool.name, rule);
    } catch (error) {
      with_(tool.rule);
      toasts.fault(error);
    }
  };
  const fits = ({ name, description }: KnownTool) =>
    `${name} ${description}`.toLowerCase().includes(wanted.trim().toLowerCase());
  const found = value.items.filter(fits);
  return (
    <>
      <p className="note lead">
        What the model may use. A rule that you choose holds for you, in every conversation, until
        you choose another one.
      </p>
      {value.items.length > MANY && (
        <input
          type="search"
          className="input find-tool"
          placeholder="Find a tool"
          aria-label="Find a tool"
          value={wanted}
          onChange={(event) => setWanted(event.target.value)}
        />
      )}
      {bySource(found).map((group) => (
        <Group key={group.source} group={group} onRule={choose} />
      ))}
      {!found.length && <p className="note">No tool is called so.</p>}
    </>
  );
}

type GroupProps = { group: ToolGroup; onRule: (tool: KnownTool, rule: Rule) => void };

function Group({ group, onRule }: GroupProps) {
  const id = `tools-${group.source}`;
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>
        {group.name} <small>{count(group.tools.length, "tool")}</small>
      </h2>
      <ul className="tool-rows">
        {group.tools.map((tool) => (
          <ToolRow key={tool.name} tool={tool} onRule={(rule) => onRule(tool, rule)} />
        ))}
      </ul>
    </section>
  );
}
