import { useEffect } from "react";
import { documentsApi } from "../../../api/documents";
import type { Project } from "../../../api/projects";
import { t } from "../../../i18n";
import { type Choice, Choices } from "../../../kit/Choices";
import { Field } from "../../../kit/Field";
import { Link, ProblemNotice } from "../../../kit/pieces";
import { useRead } from "../../../services/useRead";

const ask = (signal: AbortSignal) => documentsApi.collections(signal);

type CollectionsProps = {
  value: readonly Choice[];
  memory: Project["memory"];
  onChange: (value: readonly Choice[]) => void;
};

function hintOf(memory: Project["memory"], chosen: boolean): string {
  if (chosen) {
    return t("Answers look for documents here. To ask others, name them with # in a message.");
  }
  if (memory === "own") return t("Without any, answers use no documents of other projects.");
  return t("Without any, answers look in all your documents.");
}

/** In which collections a project's answers look for documents. */
export function ProjectCollections({ value, memory, onChange }: CollectionsProps) {
  const { value: known, problem, read } = useRead(ask);
  const options = (known?.items ?? []).map(({ id, name, owner, documents }) => {
    const count = t("{count, plural, one {# document} other {# documents}}", { count: documents });
    return { id, name, hint: owner ? t("{count}, shared with you", { count }) : count };
  });
  useEffect(() => {
    // What was removed meanwhile, or is not shared any more, cannot be saved.
    const left = known && value.filter(({ id }) => known.items.some((each) => each.id === id));
    if (left && left.length < value.length) onChange(left);
  }, [known, value, onChange]);
  if (problem && !known) {
    return <ProblemNotice problem={problem} onRetry={() => void read()} />;
  }
  const isEmpty = known && !options.length && !value.length;
  return (
    <Field label={t("Documents")} hint={isEmpty ? <MakeOne /> : hintOf(memory, value.length > 0)}>
      {({ id, "aria-describedby": describedBy }) => (
        <Choices
          id={id}
          label={t("Documents")}
          describedBy={describedBy}
          value={value}
          options={options}
          onChange={onChange}
          placeholder={t("Choose collections")}
          none={known ? t("No collection fits.") : t("Loading…")}
          disabled={Boolean(isEmpty)}
        />
      )}
    </Field>
  );
}

function MakeOne() {
  return (
    <>
      {t("You have no collections yet. Add documents and a collection for them under Documents.")}{" "}
      <Link to="/documents">{t("Go to Documents")}</Link>
    </>
  );
}
