import { type FormEvent, useState } from "react";
import { api, asProblem } from "../../api/client";
import { settingsApi } from "../../api/settings";
import type { UserShown } from "../../api/types";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import styles from "./Keys.module.css";
import { MIN_PASSWORD } from "./keyWords";

type PersonFormProps = {
  onAdded: (user: UserShown | null) => void;
  onClose: () => void;
  /** The first one is an administrator, and signs in with a password at once. */
  isFirst?: boolean;
};

/** Adds a user, who has a memory of their own. */
export function PersonForm({ onAdded, onClose, isFirst = false }: PersonFormProps) {
  const [fault, setFault] = useState("");
  const [busy, setBusy] = useState(false);
  const add = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget);
    setBusy(true);
    try {
      const name = String(given.get("name") ?? "");
      const password = String(given.get("password") ?? "");
      if (isFirst) {
        await settingsApi.firstUser({ key: "", name, password });
        onAdded(null);
        return;
      }
      onAdded(
        await api.addUser({ name, admin: given.has("admin"), ...(password && { password }) }),
      );
    } catch (error) {
      setFault(asProblem(error).detail || asProblem(error).title);
      setBusy(false);
    }
  };
  return (
    <Dialog title={isFirst ? t("Add the first user") : t("Add a user")} onClose={onClose}>
      <form className="body" onSubmit={(event) => void add(event)}>
        <p>
          {isFirst
            ? t(
                "You sign in with this name and password from now on. Everything here is yours then.",
              )
            : t("A user has a separate memory and separate conversations, which nobody else sees.")}
        </p>
        <label className="field">
          {t("Name")}
          <input
            className="input"
            name="name"
            data-first
            maxLength={64}
            autoCapitalize="none"
            autoComplete="off"
            required
          />
        </label>
        <label className="field">
          {t("Password, at least {count} characters", { count: MIN_PASSWORD })}
          <input
            className="input"
            name="password"
            type="password"
            minLength={MIN_PASSWORD}
            maxLength={1000}
            autoComplete="new-password"
            required={isFirst}
          />
        </label>
        {!isFirst && (
          <>
            <p className={styles.note}>
              {t("Without a password they need a key, which is made in a terminal:")}{" "}
              <code>bethink users key add NAME</code>
            </p>
            <fieldset className={styles.checks}>
              <legend>{t("Rights")}</legend>
              <label>
                <input type="checkbox" name="admin" />
                <strong>{t("Administrator")}</strong>
                <span>{t("Manages users and settings")}</span>
              </label>
            </fieldset>
          </>
        )}
        <p role="alert" className={styles.fault}>
          {fault}
        </p>
        <div className="actions">
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button look="primary" type="submit" disabled={busy}>
            {t("Add")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
