// What came of a question to the vault: its steps, the answer, the pages it read, and what it noted.

import { FileText } from "lucide-react";
import { useRef, useState } from "react";
import { BlockView, Thinking } from "../../answer/BlockView";
import { NoModel } from "../../answer/NoModel";
import { blocksOf, changeName } from "../../answer/parts";
import { ToolLine } from "../../answer/ToolLine";
import lines from "../../answer/ToolLine.module.css";
import { api } from "../../api/client";
import { t, told } from "../../i18n";
import { Button } from "../../kit/Button";
import { Link, Notice, ProblemNotice } from "../../kit/pieces";
import type { Change, Run, ToolPart } from "../../run/reduce";
import { useApp } from "../../services/context";
import { addressOfPage } from "../../services/router";
import { endOf } from "../../services/words";
import styles from "./Ask.module.css";
import type { Asked } from "./asking";
import { folderOf, titleOf } from "./treeRows";
import vault from "./vault.module.css";
import { addressed, type Pages } from "./wikilinks";

const NO_MODEL = "no_model";

type AnswerProps = {
  asked: Asked;
  run: Run;
  pages: Pages;
  onChanged: () => Promise<void>;
  onAgain: () => void;
};

export function AskAnswer(props: AnswerProps) {
  const { asked, run, pages, onChanged, onAgain } = props;
  const { question, running, problem } = asked;
  return (
    <section className={styles.asked} aria-label={t("Question and answer")}>
      <h2>{question}</h2>
      <article className={styles.answer} aria-label={t("Answer")} aria-busy={running}>
        {blocksOf(run.parts).map((block) => (
          <BlockView
            key={block.key}
            block={block}
            grows={running && block === run.parts.at(-1)}
            textOf={({ text }) => addressed(text, pages)}
            toolsOf={(tools) => <Steps tools={tools} />}
          />
        ))}
        {running && <Thinking run={run} />}
        {!running && <End asked={asked} run={run} onAgain={onAgain} />}
      </article>
      {!running && <Changed changes={run.changed} onChanged={onChanged} />}
      {asked.pages.length > 0 && !problem && (
        <nav aria-label={t("Pages it read")}>
          <h3>{t("Pages it read")}</h3>
          <ul className={vault.links}>
            {asked.pages.map((path) => (
              <li key={path}>
                <Link to={addressOfPage(path)}>
                  <span>
                    <FileText size={15} aria-hidden /> {titleOf(path)}
                  </span>
                  {folderOf(path) && <small>{folderOf(path)}</small>}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
      )}
    </section>
  );
}

function Steps({ tools }: { tools: readonly ToolPart[] }) {
  return (
    <ul className={lines.tools} aria-label={t("Tool calls")}>
      {tools.map((tool) => (
        <li key={tool.key}>
          <ToolLine tool={tool} />
        </li>
      ))}
    </ul>
  );
}

/** Why it ended, where it did not simply end, and what to do. */
function End({ asked: { problem }, run, onAgain }: Pick<AnswerProps, "asked" | "run" | "onAgain">) {
  const { failure, end } = run;
  if (problem?.code === NO_MODEL) return <NoModel message={problem.detail} />;
  if (failure?.code === NO_MODEL) return <NoModel message={told(failure.message)} />;
  if (failure) {
    return (
      <Notice tone="fault">
        <strong>{t("The answer could not be finished")}</strong>
        <span>{told(failure.message)}</span>
        <span>
          <Button onClick={onAgain}>{t("Ask again")}</Button>
        </span>
      </Notice>
    );
  }
  if (problem) return <ProblemNotice problem={problem} onRetry={onAgain} />;
  const words = end && endOf(end);
  return words ? <Notice tone={end === "cancelled" ? "plain" : "ask"}>{words}</Notice> : null;
}

type ChangedProps = { changes: readonly Change[]; onChanged: () => Promise<void> };

/** Changes, each with the way back. */
function Changed({ changes, onChanged }: ChangedProps) {
  const { toasts, memoryNews } = useApp();
  const [undone, setUndone] = useState<ReadonlySet<string>>(new Set());
  const undoing = useRef(new Set<string>());
  if (!changes.length) return null;
  const takeBack = async (token: string) => {
    // A second press would be refused.
    if (undoing.current.has(token)) return;
    undoing.current.add(token);
    try {
      await api.undo(token);
      setUndone((now) => new Set([...now, token]));
      await Promise.all([onChanged(), memoryNews.tell()]);
    } catch (error) {
      toasts.fault(error);
    } finally {
      undoing.current.delete(token);
    }
  };
  return (
    <section>
      <h3>{t("Changes")}</h3>
      <ul className={styles.noted}>
        {changes.map(({ ids, undo, change, text }, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: changes are only added
          <li key={i}>
            <span>
              {changeName(change)}: {text || ids.join(", ")}
            </span>
            {undo &&
              (undone.has(undo) ? (
                <span className={vault.note}>{t("Undone")}</span>
              ) : (
                <Button
                  look="quiet"
                  aria-label={t("Undo: {what}", { what: text || ids.join(", ") })}
                  onClick={() => void takeBack(undo)}
                >
                  {t("Undo")}
                </Button>
              ))}
          </li>
        ))}
      </ul>
    </section>
  );
}
