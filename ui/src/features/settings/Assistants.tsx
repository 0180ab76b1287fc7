// Assistants: a model under a name of its own, with instructions, and with or without tools and memory.
import { Bot, Pencil, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { t } from "../../i18n";
import { Button, IconButton } from "../../kit/Button";
import { Confirm } from "../../kit/Dialog";
import { Empty, ProblemNotice, Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { AssistantDialog } from "./AssistantDialog";
import { AdminsOnly, GroupSettings } from "./GroupSettings";
import styles from "./Setting.module.css";
import { useSettings } from "./useSettings";
import { setBy } from "./words";

export type Assistant = {
  model?: string | null;
  system?: string;
  tools?: boolean;
  memory?: boolean;
};

/** What it is in a line. */
function wordsOf({ model, system, tools = true, memory = true }: Assistant): string {
  return [
    model || t("The usual model"),
    tools ? t("with tools") : t("without tools"),
    memory ? t("with memory") : t("without memory"),
    system ?? "",
  ]
    .filter(Boolean)
    .join(" · ");
}

export function Assistants({ found }: { found: string | null }) {
  const { find, all, problem, read, save } = useSettings();
  const { toasts } = useApp();
  const [editing, setEditing] = useState<string | null>(null);
  const [leaving, setLeaving] = useState<string | null>(null);
  if (problem && !all) return <ProblemNotice problem={problem} onRetry={() => void read()} />;
  const setting = find("assistants");
  if (all && !setting) return <AdminsOnly />;
  if (!setting) return <Skeleton lines={4} label={t("Loading the assistants")} />;
  const kept = (setting.value ?? {}) as Record<string, Assistant>;
  const names = Object.keys(kept);
  const without = (name: string | null) =>
    Object.fromEntries(Object.entries(kept).filter(([each]) => each !== name));
  const remove = async (name: string) => {
    const refused = await save({ assistants: without(name) });
    if (refused) return toasts.fault(refused);
    toasts.show(t("“{name}” was removed", { name }), {
      label: t("Undo"),
      run: () => void save({ assistants: kept }),
    });
  };
  const add = (
    <Button icon={Plus} onClick={() => setEditing("")}>
      {t("Add an assistant")}
    </Button>
  );
  return (
    <>
      {setBy(setting) && <p className={styles.foot}>{setBy(setting)}</p>}
      {!names.length && (
        <Empty icon={Bot} title={t("No assistants yet")}>
          <p>
            {t("Give a model a name and instructions, such as “Translator” or “Code reviewer”.")}
          </p>
          {setting.editable && add}
        </Empty>
      )}
      <div className={styles.entries}>
        {names.length > 0 && (
          <ul aria-label={t("Assistants")}>
            {names.map((name) => (
              <li key={name}>
                <Bot size={18} strokeWidth={1.75} aria-hidden />
                <div>
                  <strong>{name}</strong>
                  <small className="clip">{wordsOf(kept[name] ?? {})}</small>
                </div>
                {setting.editable && (
                  <>
                    <IconButton
                      icon={Pencil}
                      size={16}
                      label={t("Edit {name}", { name })}
                      onClick={() => setEditing(name)}
                    />
                    <IconButton
                      icon={Trash2}
                      size={16}
                      label={t("Remove {name}", { name })}
                      onClick={() => setLeaving(name)}
                    />
                  </>
                )}
              </li>
            ))}
          </ul>
        )}
        {names.length > 0 && setting.editable && <span>{add}</span>}
      </div>
      <GroupSettings groups={["assistants"]} found={found} without={["assistants"]} />
      {editing !== null && (
        <AssistantDialog
          name={editing}
          assistant={kept[editing] ?? {}}
          taken={names.filter((each) => each !== editing)}
          onClose={() => setEditing(null)}
          onSave={(name, assistant) =>
            save({ assistants: { ...without(editing), [name]: assistant } })
          }
        />
      )}
      {leaving && (
        <Confirm
          title={t("Remove “{name}”?", { name: leaving })}
          action={t("Remove")}
          onClose={() => setLeaving(null)}
          onConfirm={() => void remove(leaving)}
        >
          <p>{t("Its conversations stay. Programs that ask for it by name are refused.")}</p>
        </Confirm>
      )}
    </>
  );
}
