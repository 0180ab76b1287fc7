import { CircleHelp, TriangleAlert } from "lucide-react";
import { useEffect, useId, useRef, useState } from "react";
import { Arguments } from "../../answer/Arguments";
import { LazyMarkdown } from "../../answer/LazyMarkdown";
import { entriesOf, pretty, titleOfTool } from "../../answer/parts";
import raw from "../../answer/raw.module.css";
import lines from "../../answer/ToolLine.module.css";
import { api, asProblem } from "../../api/client";
import type { Decision, Rule } from "../../api/types";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import type { ToolPart } from "../../run/reduce";
import type { Session } from "../../run/session";
import { useApp } from "../../services/context";
import styles from "./Approval.module.css";
import { EditArguments } from "./EditArguments";

type ApprovalProps = { tool: ToolPart; run: string; session: Session };

const DRAWN_MS = 5000;

/** Leads on to the next question, or to what became of this one, once it is drawn; not who went elsewhere. */
function leadOn(card: Element | null, call: string): void {
  const until = performance.now() + DRAWN_MS;
  const look = () => {
    // On a busy machine the card is there for some frames more.
    if (card?.isConnected && performance.now() < until) return void requestAnimationFrame(look);
    const line = document.querySelector(`[data-call="${CSS.escape(call)}"]`);
    const here = document.activeElement;
    if (here && here !== document.body && !line?.contains(here)) return;
    const next = document.querySelector<HTMLElement>("[data-approval] h2");
    (next ?? line?.querySelector("summary"))?.focus();
  };
  requestAnimationFrame(look);
}

/** What holds for a tool until another rule is chosen. */
async function ruleOf(name: string): Promise<Rule> {
  const { items } = await api.tools();
  return items.find((tool) => tool.name === name)?.rule ?? null;
}

/** Decides about a call. What then holds for the tool is told, with a way back. */
function useDeciding({ tool, run, session }: ApprovalProps) {
  const { toasts } = useApp();
  const card = useRef<HTMLElement>(null);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  const decide = async (decision: Decision) => {
    setBusy(true);
    setFault(null);
    const asked = card.current;
    try {
      const before = decision.always ? await ruleOf(tool.name) : null;
      await session.decide(run, tool.call, decision);
      leadOn(asked, tool.call);
      if (!decision.always) return;
      const never = decision.decision === "reject";
      const undo = () => void api.setRule(tool.name, before).catch(toasts.fault);
      const { name } = tool;
      const said = never
        ? t("{name} is never used from now on.", { name })
        : t("{name} runs without asking from now on.", { name });
      toasts.show(said, {
        label: t("Undo"),
        run: undo,
      });
    } catch (error) {
      const problem = asProblem(error);
      setFault(problem.detail || problem.title);
      setBusy(false);
    }
  };
  return { card, busy, fault, decide };
}

/** A call that waits: what it would do, exactly, and the decision. It ends as a line with a receipt. */
export function Approval(props: ApprovalProps) {
  const { tool } = props;
  const heading = useId();
  const [editing, setEditing] = useState(false);
  const { card, busy, fault, decide } = useDeciding(props);
  const { server, label } = titleOfTool(tool);
  useEffect(() => {
    // What is opened below what is read stays in view, its buttons too.
    if (editing) card.current?.querySelector(".actions")?.scrollIntoView({ block: "nearest" });
  }, [editing, card]);
  const choose = (decision: Decision["decision"], always = false) =>
    void decide(always ? { decision, always } : { decision });
  return (
    <section
      ref={card}
      className={`${styles.approval} ${tool.final ? styles.final : ""}`}
      data-approval
      aria-labelledby={heading}
      aria-busy={busy}
    >
      <h2 id={heading} tabIndex={-1}>
        {tool.final ? (
          <TriangleAlert size={16} aria-hidden />
        ) : (
          <CircleHelp size={16} aria-hidden />
        )}
        {server && <span className={lines.server}>{server}</span>}
        <span>{label}</span>
      </h2>
      {tool.reason && <LazyMarkdown text={tool.reason} />}
      {editing ? (
        <EditArguments
          text={tool.arguments}
          busy={busy}
          onBack={() => setEditing(false)}
          onSave={(changed) => void decide({ decision: "edit", arguments: changed })}
        />
      ) : (
        <Exactly tool={tool} />
      )}
      {fault && <p role="alert">{fault}</p>}
      {!editing && (
        <div className="actions">
          {!tool.final && (
            <span className={styles.always}>
              <Button disabled={busy} onClick={() => choose("approve", true)}>
                {t("Always allow this tool")}
              </Button>
              <Button
                look="quiet"
                disabled={busy}
                aria-label={t("Never allow this tool")}
                onClick={() => choose("reject", true)}
              >
                {t("Never allow")}
              </Button>
            </span>
          )}
          <Button disabled={busy} onClick={() => choose("reject")}>
            {t("Reject")}
          </Button>
          {Boolean(entriesOf(tool.arguments)?.length) && (
            <Button disabled={busy} onClick={() => setEditing(true)}>
              {t("Edit")}
            </Button>
          )}
          <Button
            look={tool.final ? "danger" : "primary"}
            disabled={busy}
            onClick={() => choose("approve")}
          >
            {t("Approve")}
          </Button>
        </div>
      )}
    </section>
  );
}

/** The arguments as rows, and on demand as the tool gets them. */
function Exactly({ tool }: { tool: ToolPart }) {
  if (!entriesOf(tool.arguments)?.length) return null;
  return (
    <div>
      <Arguments text={tool.arguments} tool={tool.name} />
      <details className={raw.raw}>
        <summary>{t("As JSON")}</summary>
        <pre className={raw.text}>{`${tool.name}\n${pretty(tool.arguments)}`}</pre>
      </details>
    </div>
  );
}
