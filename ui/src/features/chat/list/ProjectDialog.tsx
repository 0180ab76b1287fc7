import { type FormEvent, useState } from "react";
import { asProblem } from "../../../api/client";
import type { Project } from "../../../api/projects";
import { t } from "../../../i18n";
import { Button } from "../../../kit/Button";
import { Dialog } from "../../../kit/Dialog";
import { Field } from "../../../kit/Field";
import { Segmented } from "../../../kit/pieces";
import { useApp } from "../../../services/context";

type ProjectDialogProps = {
  /** Null makes a new one. */
  project: Project | null;
  onClose: () => void;
  onMade?: (project: Project) => void;
};

export function ProjectDialog({ project, onClose, onMade }: ProjectDialogProps) {
  const { conversations } = useApp();
  const [name, setName] = useState(project?.name ?? "");
  const [instructions, setInstructions] = useState(project?.instructions ?? "");
  const [memory, setMemory] = useState<"all" | "own">(project?.memory ?? "all");
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  // One that conversations merely name has no record yet.
  const isKept = Boolean(project?.created_at);
  const save = async (event: FormEvent) => {
    event.preventDefault();
    if (!name.trim() || busy) return;
    setBusy(true);
    try {
      const draft = { name: project && !isKept ? project.id : name, instructions, memory };
      const saved =
        project && isKept
          ? await conversations.changeProject(project.id, { name, instructions, memory })
          : await conversations.makeProject(draft);
      onMade?.(saved);
      onClose();
    } catch (error) {
      const { detail, title } = asProblem(error);
      setProblem(detail || title);
      setBusy(false);
    }
  };
  return (
    <Dialog title={project ? t("Edit project") : t("New project")} onClose={onClose}>
      <form className="body" onSubmit={(event) => void save(event)}>
        <Field label={t("Name")} problem={problem}>
          {(control) => (
            <input
              {...control}
              className="input"
              data-first
              maxLength={100}
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        <Field
          label={t("Instructions")}
          hint={t("The model is told them in every conversation of this project.")}
        >
          {(control) => (
            <textarea
              {...control}
              className="input"
              rows={5}
              maxLength={20_000}
              value={instructions}
              onChange={(event) => setInstructions(event.target.value)}
            />
          )}
        </Field>
        <Field
          label={t("Memory")}
          hint={
            memory === "own"
              ? t(
                  "Answers use only what belongs to this project, and what they remember stays in it.",
                )
              : t("Answers use everything you have told Bethink.")
          }
        >
          {() => (
            <Segmented
              label={t("Memory")}
              value={memory}
              options={[
                { value: "all", label: t("Everything") },
                { value: "own", label: t("This project only") },
              ]}
              onChange={setMemory}
            />
          )}
        </Field>
        <div className="actions">
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button look="primary" type="submit" disabled={!name.trim() || busy}>
            {t("Save")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
