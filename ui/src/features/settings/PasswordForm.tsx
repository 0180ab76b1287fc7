import { type FormEvent, useState } from "react";
import { api, asProblem } from "../../api/client";
import type { UserShown } from "../../api/types";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import styles from "./Keys.module.css";
import { MIN_PASSWORD } from "./keyWords";

type PasswordFormProps = {
  user: UserShown;
  isMe: boolean;
  onSet: () => void;
  onClose: () => void;
};

/** Gives a user a password, which signs them out everywhere. */
export function PasswordForm({ user, isMe, onSet, onClose }: PasswordFormProps) {
  const [fault, setFault] = useState("");
  const [busy, setBusy] = useState(false);
  const set = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const password = String(new FormData(event.currentTarget).get("password") ?? "");
    setBusy(true);
    try {
      await api.changeUser(user.id, { password });
      onSet();
    } catch (error) {
      setFault(asProblem(error).detail || asProblem(error).title);
      setBusy(false);
    }
  };
  return (
    <Dialog title={t("A password for {name}", { name: user.name })} onClose={onClose}>
      <form className="body" onSubmit={(event) => void set(event)}>
        <p>
          {isMe
            ? t("You will be signed out everywhere, including here. Keys keep working.")
            : t("They will be signed out everywhere. Keys keep working.")}
        </p>
        <input type="hidden" name="username" autoComplete="username" value={user.name} />
        <label className="field">
          {t("New password, at least {count} characters", { count: MIN_PASSWORD })}
          <input
            className="input"
            name="password"
            type="password"
            data-first
            minLength={MIN_PASSWORD}
            maxLength={1000}
            autoComplete="new-password"
            required
          />
        </label>
        <p role="alert" className={styles.fault}>
          {fault}
        </p>
        <div className="actions">
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button look="primary" type="submit" disabled={busy}>
            {t("Set password")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
