import { type FormEvent, useState } from "react";
import { asProblem, type Problem } from "../../../api/client";
import type { Project } from "../../../api/projects";
import { t } from "../../../i18n";
import { Button } from "../../../kit/Button";
import type { Choice } from "../../../kit/Choices";
import { Dialog } from "../../../kit/Dialog";
import { Field } from "../../../kit/Field";
import { ProblemNotice, Segmented } from "../../../kit/pieces";
import { useApp } from "../../../services/context";
import { ProjectCollections } from "./ProjectCollections";

type ProjectDialogProps = {
  /** Null makes a new one. */
  project: Project | null;
  onClose: () => void;
  onMade?: (project: Project) => void;
};

export default function ProjectDialog({ project, onClose, onMade }: ProjectDialogProps) {
  const { conversations } = useApp();
  const [name, setName] = useState(project?.name ?? "");
  const [instructions, setInstructions] = useState(project?.instructions ?? "");
  const [memory, setMemory] = useState<"all" | "own">(project?.memory ?? "all");
  const [chosen, setChosen] = useState<readonly Choice[]>(project?.collections ?? []);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  // One that conversations merely name has no record yet.
  const isKept = Boolean(project?.created_at);
  const save = async (event: FormEvent) => {
    event.preventDefault();
    if (!name.trim() || busy) return;
    setBusy(true);
    try {
      const said = { instructions, memory, collections: chosen.map(({ id }) => id) };
      const saved =
        project && isKept
          ? await conversations.changeProject(project.id, { name, ...said })
          : await conversations.makeProject({ name: project?.id ?? name, ...said });
      onMade?.(saved);
      onClose();
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
    }
  };
  const isTaken = problem?.status === 409;
  return (
    <Dialog title={project ? t("Edit project") : t("New project")} onClose={onClose}>
      <form className="body" onSubmit={(event) => void save(event)}>
        <Field label={t("Name")} problem={isTaken ? problem?.detail : null}>
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
        <ProjectCollections value={chosen} memory={memory} onChange={setChosen} />
        {problem && !isTaken && <ProblemNotice problem={problem} />}
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
