import { KeyRound, LogIn } from "lucide-react";
import { type FormEvent, useEffect, useId, useRef, useState } from "react";
import { asProblem } from "../../api/client";
import { Button } from "../../kit/Button";
import { useApp } from "../../services/context";

/** The whole page, while nobody is signed in and somebody must be. */
export function LoginPage() {
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
    <main id="main" className="page login">
      <h1>Sign in to Bethink</h1>
      <form onSubmit={submit} aria-describedby={fault ? `${id}-fault` : undefined}>
        {way === "key" ? (
          <label className="field">
            <span>Key</span>
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
              <span>Name</span>
              <input
                ref={first}
                className="input"
                name="username"
                autoComplete="username"
                required
              />
            </label>
            <label className="field">
              <span>Password</span>
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
          Sign in
        </Button>
        <Button
          look="quiet"
          icon={KeyRound}
          onClick={() => {
            setFault("");
            setWay(way === "key" ? "password" : "key");
          }}
        >
          {way === "key" ? "Use a name and a password" : "Use a key"}
        </Button>
      </form>
      <p className="note">
        Ask the administrator of this server for a key: <code>bethink users key add NAME</code>.
      </p>
    </main>
  );
}
