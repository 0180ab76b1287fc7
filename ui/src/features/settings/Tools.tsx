import { Wrench } from "lucide-react";
import { useRef, useState } from "react";
import { api } from "../../api/client";
import type { KnownTool, Rule } from "../../api/types";
import { t } from "../../i18n";
import { Empty, ProblemNotice, Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { useRead } from "../../services/useRead";
import { GroupSettings } from "./GroupSettings";
import room from "./Room.module.css";
import { ToolRow } from "./ToolRow";
import styles from "./Tools.module.css";
import { bySource, type ToolGroup } from "./toolWords";

const ask = (signal: AbortSignal) => api.tools(signal);
/** With more tools than these, a field finds one. */
const MANY = 12;

/** What the model may use, whether it must ask before, and how much of it. */
export function Tools({ found }: { found: string | null }) {
  return (
    <>
      <GroupSettings groups={["tools"]} found={found} />
      <section className={room.part} aria-labelledby="rules">
        <h2 id="rules">{t("Your rules")}</h2>
        <Rules />
      </section>
    </>
  );
}

function Rules() {
  const { toasts } = useApp();
  const { value, problem, read, change } = useRead(ask);
  const [wanted, setWanted] = useState("");
  const chosen = useRef(Promise.resolve());
  const choices = useRef(0);
  if (problem) return <ProblemNotice problem={problem} onRetry={() => void read()} />;
  if (!value) return <Skeleton lines={8} label={t("Loading the tools")} />;
  if (!value.items.length) {
    return (
      <Empty icon={Wrench} title={t("There are no tools")}>
        <p>{t("Tools are switched off.")}</p>
      </Empty>
    );
  }
  const choose = (tool: KnownTool, rule: Rule) => {
    const show = () =>
      change(({ items }) => ({
        items: items.map((each) => (each.name === tool.name ? { ...each, rule } : each)),
      }));
    show();
    const choice = choices.current + 1;
    choices.current = choice;
    // One after the other: the server keeps what was chosen last.
    chosen.current = chosen.current.then(async () => {
      try {
        await api.setRule(tool.name, rule);
      } catch (error) {
        toasts.fault(error);
      }
      // What was read between is older, and what was refused is not so.
      if (choice === choices.current) await read();
    });
  };
  const fits = ({ name, description }: KnownTool) =>
    `${name} ${description}`.toLowerCase().includes(wanted.trim().toLowerCase());
  const found = value.items.filter(fits);
  return (
    <>
      <p className={room.note}>
        {t(
          "These tools are available to the model. Your rules apply in all your conversations until you change them.",
        )}
      </p>
      {value.items.length > MANY && (
        <input
          type="search"
          className={`input ${styles.find}`}
          placeholder={t("Find a tool")}
          aria-label={t("Find a tool")}
          value={wanted}
          onChange={(event) => setWanted(event.target.value)}
        />
      )}
      {bySource(found).map((group) => (
        <Group key={group.source} group={group} onRule={choose} />
      ))}
      {!found.length && <p className={room.note}>{t("No tool matches.")}</p>}
    </>
  );
}

type GroupProps = { group: ToolGroup; onRule: (tool: KnownTool, rule: Rule) => void };

function Group({ group, onRule }: GroupProps) {
  const id = `tools-${group.source}`;
  return (
    <section aria-labelledby={id}>
      <h3 id={id} className={styles.source}>
        {group.name}{" "}
        <small>
          {t("{count, plural, one {# tool} other {# tools}}", { count: group.tools.length })}
        </small>
      </h3>
      <ul className={styles.rows}>
        {group.tools.map((tool) => (
          <ToolRow key={tool.name} tool={tool} onRule={(rule) => onRule(tool, rule)} />
        ))}
      </ul>
    </section>
  );
}
