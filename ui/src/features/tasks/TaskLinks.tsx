import { Check, Circle, Link2, X } from "lucide-react";
import { useState } from "react";
import type { Task, TaskPatch } from "../../api/tasks";
import { t } from "../../i18n";
import { IconButton } from "../../kit/Button";
import { Combobox } from "../../kit/Combobox";
import { Link } from "../../kit/pieces";
import planner from "../../planner/planner.module.css";
import {
  addressOfChat,
  addressOfDocument,
  addressOfEvent,
  addressOfPage,
} from "../../services/router";
import styles from "./Tasks.module.css";
import { useTasks } from "./useTasks";

type LinksProps = {
  task: Task;
  onOpen: (task: Pick<Task, "id">) => void;
  onSave: (patch: TaskPatch) => Promise<boolean>;
};

const addresses: Partial<Record<Task["links"][number]["kind"], (id: string) => string>> = {
  conversation: (id) => addressOfChat(id),
  fact: (id) => `/memory/${encodeURIComponent(id)}`,
  page: addressOfPage,
  document: (id) => addressOfDocument(id),
  event: addressOfEvent,
};

/** What comes first, and what the task is about. */
export function TaskLinks({ task, onOpen, onSave }: LinksProps) {
  const { depends_on: needs, links } = task;
  const without = (id: string) => needs.map((each) => each.id).filter((each) => each !== id);
  return (
    <>
      <section aria-label={t("Waits for")}>
        <h3>{t("Waits for")}</h3>
        <ul className={planner.plainList}>
          {needs.map(({ id, title, done }) => (
            <li key={id} className={styles.need}>
              {done ? (
                <Check size={14} aria-label={t("Done")} />
              ) : (
                <Circle size={14} aria-label={t("Not done")} />
              )}
              <button type="button" className="link" onClick={() => onOpen({ id })}>
                {title}
              </button>
              <IconButton
                icon={X}
                size={14}
                label={t("No longer wait for {title}", { title })}
                onClick={() => void onSave({ depends_on: without(id) })}
              />
            </li>
          ))}
        </ul>
        <AddNeed
          task={task}
          onAdd={(id) => void onSave({ depends_on: [...needs.map((each) => each.id), id] })}
        />
      </section>
      {links.length + (task.conversation ? 1 : 0) > 0 && (
        <section aria-label={t("Links")}>
          <h3>{t("Links")}</h3>
          <ul className={planner.plainList}>
            {task.conversation && (
              <li>
                <Link2 size={14} aria-hidden />{" "}
                <Link to={addressOfChat(task.conversation)}>
                  {t("The chat in which it was made")}
                </Link>
              </li>
            )}
            {links.map(({ kind, id, title }) => (
              <li key={`${kind} ${id}`}>
                <Link2 size={14} aria-hidden />{" "}
                <Link to={addresses[kind]?.(id) ?? "/"}>{title || `${kind} ${id}`}</Link>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

/** Another open task, found by its words. */
function AddNeed({ task, onAdd }: { task: Task; onAdd: (id: string) => void }) {
  const [text, setText] = useState("");
  const found = useTasks({ done: false, limit: 20, ...(text.trim() ? { query: text } : {}) });
  const offered = found.items.filter(({ id }) => id !== task.id);
  const choose = (typed: string) => {
    const chosen = offered.find(({ title }) => title === typed);
    setText(chosen ? "" : typed);
    if (chosen) onAdd(chosen.id);
  };
  return (
    <Combobox
      label={t("Another task that comes first")}
      placeholder={t("Another task that comes first")}
      value={text}
      options={offered.map(({ title }) => title)}
      onChange={setText}
      onDone={choose}
    />
  );
}
