import { UserPlus } from "lucide-react";
import { type FormEvent, useEffect, useId, useRef, useState } from "react";
import { asProblem } from "../../api/client";
import { settingsApi } from "../../api/settings";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { useApp } from "../../services/context";

const MIN_PASSWORD = 10;

/** Nobody is there yet: who has the key that the server printed becomes its first user. */
export function FirstUser() {
  const { account } = useApp();
  const [fault, setFault] = useState("");
  const [busy, setBusy] = useState(false);
  const first = useRef<HTMLInputElement>(null);
  const id = useId();
  useEffect(() => first.current?.focus(), []);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget);
    const text = (name: string) => String(given.get(name) ?? "");
    const [name, password] = [text("username").trim(), text("password")];
    setBusy(true);
    setFault("");
    try {
      await settingsApi.firstUser({ key: text("key").trim(), name, password });
      account.begin("/setup/model");
    } catch (error) {
      setFault(asProblem(error).detail || asProblem(error).title);
      first.current?.focus();
    }
    setBusy(false);
  };
  return (
    <>
      <h1>{t("Set up Bethink")}</h1>
      <p>
        {t(
          "This Bethink is new. Whoever has its set-up key becomes its first user and administrator.",
        )}
      </p>
      <form onSubmit={submit} aria-describedby={fault ? `${id}-fault` : undefined}>
        <label className="field">
          <span>{t("Set-up key")}</span>
          <input
            ref={first}
            className="input"
            name="key"
            type="password"
            autoComplete="off"
            aria-describedby={`${id}-key`}
            required
          />
          <small id={`${id}-key`}>{t("The server printed it when it was started first.")}</small>
        </label>
        <label className="field">
          <span>{t("Your name")}</span>
          <input
            className="input"
            name="username"
            maxLength={64}
            autoComplete="username"
            autoCapitalize="none"
            required
          />
        </label>
        <label className="field">
          <span>{t("Password, at least {count} characters", { count: MIN_PASSWORD })}</span>
          <input
            className="input"
            name="password"
            type="password"
            minLength={MIN_PASSWORD}
            maxLength={1000}
            autoComplete="new-password"
            required
          />
        </label>
        <p id={`${id}-fault`} role="alert">
          {fault}
        </p>
        <Button type="submit" look="primary" icon={UserPlus} disabled={busy}>
          {t("Continue")}
        </Button>
      </form>
    </>
  );
}
