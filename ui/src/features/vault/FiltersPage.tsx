// What is hidden in the vault and from whom: added, removed, and tried out.

import { EyeOff, ShieldCheck, Trash2 } from "lucide-react";
import { type FormEvent, useState } from "react";
import { asProblem } from "../../api/client";
import type { VaultFilter } from "../../api/types";
import { vaultApi } from "../../api/vault";
import { t } from "../../i18n";
import { Button, IconButton } from "../../kit/Button";
import { PageHead } from "../../kit/PageHead";
import { ProblemNotice, Skeleton } from "../../kit/pieces";
import { SelectField } from "../../kit/Select";
import { useApp } from "../../services/context";
import { useRead } from "../../services/useRead";
import { AskModel } from "./AskModel";
import styles from "./Filters.module.css";
import { actions, audiences, patterns, told } from "./filterWords";
import { Seen } from "./Seen";
import vault from "./vault.module.css";

const ask = (signal: AbortSignal) => vaultApi.filters(signal);

export function FiltersPage({ paths }: { paths: readonly string[] }) {
  const { toasts } = useApp();
  const { value, problem, read } = useRead(ask);
  const items = value?.items;
  const remove = async (filter: VaultFilter) => {
    try {
      const { id, ...body } = await vaultApi.removeFilter(filter.id);
      const back = () => vaultApi.addFilter(body).then(() => read(), toasts.fault);
      toasts.show(filter.text ? t("Instruction removed") : t("Filter removed"), {
        label: t("Undo"),
        run: () => void back(),
      });
      await read();
    } catch (error) {
      toasts.fault(error);
    }
  };
  return (
    <div className={vault.page}>
      <PageHead title={t("Filters")} isMain />
      <div className={`${vault.body} scroll`}>
        <div className={`page-inner ${styles.filters}`}>
          <p className={styles.lead}>
            {t(
              "Bethink removes what you hide here before a model or another program reads a page. You always see everything.",
            )}
          </p>
          {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
          {!items && !problem && <Skeleton lines={3} label={t("Loading the filters")} />}
          {items?.length === 0 && (
            <p className={styles.noneYet}>
              <ShieldCheck size={16} aria-hidden /> {t("No filters. Nothing is hidden.")}
            </p>
          )}
          {items && items.length > 0 && (
            <ul className={styles.list} aria-label={t("Filters")}>
              {items.map((filter) => (
                <li key={filter.id}>
                  <EyeOff size={16} aria-hidden />
                  <span>
                    {told(filter)}
                    {filter.note && <small>{filter.note}</small>}
                  </span>
                  <IconButton
                    icon={Trash2}
                    size={16}
                    label={t("Remove: {what}", { what: told(filter) })}
                    onClick={() => void remove(filter)}
                  />
                </li>
              ))}
            </ul>
          )}
          {items && <AddFilter onAdded={read} />}
          {items && <AskModel onAdded={read} />}
          {items && <Seen paths={paths} filters={items} />}
        </div>
      </div>
    </div>
  );
}

const empty = { action: "hide", audience: "", path: "", section: "", field: "", pattern: "" };

function AddFilter({ onAdded }: { onAdded: () => Promise<void> }) {
  const [draft, setDraft] = useState(empty);
  const [why, setWhy] = useState("");
  const [busy, setBusy] = useState(false);
  const { action, audience, ...places } = draft;
  const isEmpty = Object.values(places).every((value) => !value.trim());
  const set = (patch: Partial<typeof empty>) => {
    setDraft({ ...draft, ...patch });
    setWhy("");
  };
  const add = async (event: FormEvent) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    try {
      await vaultApi.addFilter({
        ...places,
        action: actions().find(({ value }) => value === action)?.value ?? "hide",
        audiences: audience ? [audience] : [],
      });
      setDraft(empty);
      await onAdded();
    } catch (error) {
      setWhy(asProblem(error).detail);
    }
    setBusy(false);
  };
  const field = (name: "path" | "section" | "field", label: string, hint: string) => (
    <label className="field">
      {label}
      <input
        className="input"
        value={draft[name]}
        placeholder={hint}
        onChange={(event) => set({ [name]: event.target.value })}
      />
    </label>
  );
  const select = (
    name: "action" | "pattern" | "audience",
    label: string,
    options: readonly { value: string; label: string }[],
  ) => (
    <SelectField
      label={label}
      value={draft[name]}
      options={options}
      onChange={(value) => set({ [name]: value })}
    />
  );
  return (
    <form
      className={styles.form}
      aria-label={t("Add a filter")}
      onSubmit={(event) => void add(event)}
    >
      <h2>{t("Add a filter")}</h2>
      <div className={styles.fields}>
        {select("action", t("Action"), actions())}
        {select("pattern", t("Content"), patterns())}
        {select("audience", t("Readers"), audiences())}
        {field("path", t("On pages"), "entities/*")}
        {field("section", t("In the section"), t("Illnesses"))}
        {field("field", t("In the field"), t("salary"))}
      </div>
      {why && (
        <p className="why" role="alert">
          {why}
        </p>
      )}
      <div className="actions">
        <Button look="primary" type="submit" disabled={isEmpty || busy}>
          {t("Add")}
        </Button>
      </div>
    </form>
  );
}
