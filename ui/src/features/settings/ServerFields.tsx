import type { ReactNode } from "react";
import { t } from "../../i18n";
import { pasted, type ServerForm, type ServerText } from "./serverConfig";

type FieldsProps = {
  form: ServerForm;
  name: string;
  isNew: boolean;
  onName: (name: string) => void;
  onChange: (patch: Partial<ServerForm>) => void;
};

/** What a server is told by: its name, and its command or its address. */
export function ServerFields({ form, name, isNew, onName, onChange }: FieldsProps) {
  // What other programs have in their files can be pasted into any of the first fields.
  const take = (text: string) => {
    const found = pasted(text);
    if (!found) return false;
    if (isNew) onName(found.name);
    onChange(found.form);
    return true;
  };
  const text = (key: ServerText) => ({
    className: "input",
    spellCheck: false,
    autoComplete: "off",
    value: form[key],
    onChange: ({ target }: { target: { value: string } }) =>
      take(target.value) || onChange({ [key]: target.value }),
  });
  return (
    <>
      <label className="field">
        {t("Name")}
        <input
          className="input"
          data-first
          required
          autoComplete="off"
          spellCheck={false}
          disabled={!isNew}
          placeholder={t("For example: notes")}
          value={name}
          onChange={({ target }) => take(target.value) || onName(target.value)}
        />
      </label>
      {form.kind === "http" ? (
        <>
          <label className="field">
            {t("Address")}
            <input {...text("url")} type="url" placeholder="https://notes.example/mcp" />
          </label>
          <label className="field">
            {t("Headers, a line each, if it asks for a key")}
            <textarea {...text("headers")} rows={2} placeholder="Authorization: Bearer …" />
          </label>
        </>
      ) : (
        <>
          <label className="field">
            {t("Command, or what another program has under mcpServers")}
            <textarea {...text("command")} rows={2} placeholder="uvx mcp-server-time" />
          </label>
          <label className="field">
            {t("Variables, a line each")}
            <textarea {...text("env")} rows={2} placeholder="API_KEY=…" />
          </label>
          <label className="field">
            {t("Directory to run in")}
            <input {...text("cwd")} placeholder={t("Where Bethink runs")} />
          </label>
          <SandboxFields form={form} onChange={onChange}>
            <label className="field">
              {t("More folders that it may write to, a line each")}
              <textarea {...text("writable")} rows={2} placeholder="/home/ann/notes" />
            </label>
          </SandboxFields>
        </>
      )}
    </>
  );
}

type SandboxProps = Pick<FieldsProps, "form" | "onChange"> & { children: ReactNode };

/** Whether a program is held in the sandbox, and what it reaches from there; the places are the children. */
function SandboxFields({ form: { sandbox, network }, onChange, children }: SandboxProps) {
  return (
    <>
      <fieldset className="choices">
        <legend>{t("What it may reach")}</legend>
        <label>
          <input
            type="checkbox"
            checked={sandbox}
            onChange={({ target }) => onChange({ sandbox: target.checked })}
          />
          {t("Run it in a sandbox: it sees what its command names, and none of your other files")}
        </label>
        {sandbox && (
          <label>
            <input
              type="checkbox"
              checked={network}
              onChange={({ target }) => onChange({ network: target.checked })}
            />
            {t("It may use the network (npx and uvx need it at least the first time)")}
          </label>
        )}
      </fieldset>
      {sandbox && children}
    </>
  );
}
