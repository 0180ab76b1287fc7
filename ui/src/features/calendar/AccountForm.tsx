import { type FormEvent, useState } from "react";
import { calendarsApi, type Sends } from "../../api/calendars";
import { asProblem } from "../../api/client";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { SelectField } from "../../kit/Select";

type FormProps = { onDone: () => Promise<unknown>; onClose: () => void };

const nothing = { url: "", user: "", password: "", sends: "all" as Sends };

export const sendsWords: Record<Sends, string> = {
  all: t("All that is planned here"),
  changes: t("Only changes of what came from there"),
  nothing: t("Nothing"),
};

/** Signs in to a calendar server. What fails is told here, and what was typed stays. */
export function AccountForm({ onDone, onClose }: FormProps) {
  const [form, setForm] = useState(nothing);
  const [why, setWhy] = useState("");
  const [busy, setBusy] = useState(false);
  const save = async (event: FormEvent) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    try {
      await calendarsApi.addAccount(form);
      await onDone();
      return onClose();
    } catch (error) {
      const problem = asProblem(error);
      setWhy(problem.detail || problem.title);
    }
    setBusy(false);
  };
  const field = (name: "url" | "user" | "password") => ({
    className: "input",
    required: true,
    value: form[name],
    onChange: ({ target }: { target: HTMLInputElement }) => {
      setForm({ ...form, [name]: target.value });
      setWhy("");
    },
  });
  return (
    <Dialog title={t("Add an account")} onClose={onClose}>
      <form className="body" onSubmit={(event) => void save(event)}>
        <label className="field">
          {t("Address of the server")}
          <input {...field("url")} data-first placeholder="https://" autoComplete="off" />
        </label>
        <label className="field">
          {t("User")}
          <input {...field("user")} autoComplete="off" />
        </label>
        <label className="field">
          {t("Password, many servers want one made for programs")}
          <input {...field("password")} type="password" autoComplete="off" />
        </label>
        <SelectField
          label={t("What goes there")}
          value={form.sends}
          options={Object.entries(sendsWords).map(([value, label]) => ({
            value: value as Sends,
            label,
          }))}
          onChange={(sends) => setForm({ ...form, sends })}
        />
        {why && (
          <p className="why" role="alert">
            {why}
          </p>
        )}
        <div className="actions">
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button look="primary" type="submit" disabled={busy}>
            {busy ? t("Signing in") : t("Add")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
