// The whole page while nobody is signed in and somebody must be; before there is anybody, the first user is made.
import { KeyRound, LogIn } from "lucide-react";
import { type FormEvent, useEffect, useId, useRef, useState } from "react";
import { asProblem } from "../../api/client";
import { settingsApi } from "../../api/settings";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { useApp } from "../../services/context";
import { FirstUser } from "./FirstUser";
import styles from "./Login.module.css";

/** Whether the first user is to be made here, with the set-up key; null until it is known. */
function useIsFirst(): boolean | null {
  const [isFirst, setIsFirst] = useState<boolean | null>(null);
  useEffect(() => {
    const abort = new AbortController();
    settingsApi.setup(abort.signal).then(
      ({ by_key: byKey }) => setIsFirst(byKey),
      () => abort.signal.aborted || setIsFirst(false),
    );
    return () => abort.abort();
  }, []);
  return isFirst;
}

export function LoginPage() {
  const isFirst = useIsFirst();
  if (isFirst === null) return <main id="main" className="page" />;
  return (
    <main id="main" className={`page ${styles.login}`}>
      {isFirst ? <FirstUser /> : <SignIn />}
    </main>
  );
}

function SignIn() {
  const { account } = useApp();
  const [way, setWay] = useState<"key" | "password">("key");
  const [fault, setFault] = useState("");
  const [busy, setBusy] = useState(false);
  const first = useRef<HTMLInputElement>(null);
  const id = useId();

  // biome-ignore lint/correctness/useExhaustiveDependencies: the other way has another first field
  useEffect(() => first.current?.focus(), [way]);

  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const given = new FormData(event.currentTarget);
    const text = (name: string) => String(given.get(name) ?? "");
    setBusy(true);
    setFault("");
    try {
      await account.signIn(
        way === "key"
          ? { key: text("key") }
          : { name: text("username"), password: text("password") },
      );
    } catch (error) {
      setFault(asProblem(error).detail || asProblem(error).title);
      first.current?.focus();
    }
    setBusy(false);
  }

  return (
    <>
      <h1>{t("Sign in to Bethink")}</h1>
      <form onSubmit={submit} aria-describedby={fault ? `${id}-fault` : undefined}>
        {way === "key" ? (
          <label className="field">
            <span>{t("Key")}</span>
            <input
              ref={first}
              className="input"
              name="key"
              type="password"
              autoComplete="current-password"
              placeholder="bk_…"
              required
            />
          </label>
        ) : (
          <>
            <label className="field">
              <span>{t("Name")}</span>
              <input
                ref={first}
                className="input"
                name="username"
                autoComplete="username"
                autoCapitalize="none"
                required
              />
            </label>
            <label className="field">
              <span>{t("Password")}</span>
              <input
                className="input"
                name="password"
                type="password"
                autoComplete="current-password"
                required
              />
            </label>
          </>
        )}
        <p id={`${id}-fault`} role="alert">
          {fault}
        </p>
        <Button type="submit" look="primary" icon={LogIn} disabled={busy}>
          {t("Sign in")}
        </Button>
        <Button
          look="quiet"
          icon={KeyRound}
          onClick={() => {
            setFault("");
            setWay(way === "key" ? "password" : "key");
          }}
        >
          {way === "key" ? t("Use a name and a password") : t("Use a key")}
        </Button>
      </form>
      <details className={styles.note}>
        <summary>{t("No key, or a lost password?")}</summary>
        <p>
          {t(
            "Whoever runs this server makes a new one in its terminal, while it runs. With “make serve”, the program is .venv/bin/bethink.",
          )}
        </p>
        <dl>
          <dt>{t("The names of the users")}</dt>
          <dd>
            <code>bethink users list</code>
          </dd>
          <dt>{t("A new password")}</dt>
          <dd>
            <code>bethink users password NAME</code>
          </dd>
          <dt>{t("A new key")}</dt>
          <dd>
            <code>bethink users key add NAME</code>
          </dd>
        </dl>
      </details>
    </>
  );
}
