// The whole page while another program asks to be let in: who it says it is, where the answer goes, what it may do.
import { Ban, Check, ShieldAlert } from "lucide-react";
import { useEffect, useId, useState } from "react";
import { asProblem, type Problem } from "../../api/client";
import { type Asked, grantsApi } from "../../api/grants";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Empty, Link, Skeleton } from "../../kit/pieces";
import styles from "./Login.module.css";

type Scope = "read" | "write";

const words = (): Record<Scope, string> => ({
  read: t("Read and search memories, conversations and files"),
  write: t("Change them with its tools"),
});
const isScope = (scope: string): scope is Scope => scope in words();

export default function ConsentPage() {
  const [asked, setAsked] = useState<Asked | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  useEffect(() => {
    const abort = new AbortController();
    grantsApi
      .asked(location.search, abort.signal)
      .then(setAsked, (error) => abort.signal.aborted || setProblem(asProblem(error)));
    return () => abort.abort();
  }, []);
  useEffect(() => {
    document.title = t("Let a program in? · Bethink");
  }, []);
  return (
    <main id="main" className={`page ${styles.login}`}>
      {problem && (
        <Empty icon={ShieldAlert} title={t("This program cannot be let in")}>
          <p>{problem.detail || problem.title}</p>
          <Link className="button" to="/">
            {t("Go to Chat")}
          </Link>
        </Empty>
      )}
      {!asked && !problem && <Skeleton lines={5} label={t("Loading what the program asks for")} />}
      {asked && !problem && <Question asked={asked} onFault={setProblem} />}
    </main>
  );
}

function Question({ asked, onFault }: { asked: Asked; onFault: (problem: Problem) => void }) {
  const offered = asked.scopes.filter(isScope);
  const [given, setGiven] = useState<Scope[]>(offered);
  const [busy, setBusy] = useState(false);
  const id = useId();
  const decide = async (allow: boolean) => {
    setBusy(true);
    try {
      const made = await grantsApi.decide({ request: location.search, allow, scopes: given });
      location.assign(made.redirect_to);
    } catch (error) {
      onFault(asProblem(error));
    }
  };
  return (
    <>
      <h1>{t("Let “{client}” use your Bethink?", { client: asked.client })}</h1>
      <p>
        {t("A program that calls itself “{client}” asks for this. The name is its own claim.", {
          client: asked.client,
        })}
      </p>
      <p>
        {asked.is_local
          ? t("The answer goes to a program on this computer ({host}).", { host: asked.host })
          : t("The answer goes to {host}.", { host: asked.host })}{" "}
        <strong>{t("Go on only if you began this there yourself.")}</strong>
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void decide(true);
        }}
      >
        <fieldset className={styles.rights} aria-describedby={`${id}-end`}>
          <legend>{t("As {user}, it may:", { user: asked.user })}</legend>
          {offered.map((scope) => (
            <label key={scope}>
              <input
                type="checkbox"
                checked={given.includes(scope)}
                onChange={({ target }) =>
                  setGiven(
                    offered.filter((one) => (one === scope ? target.checked : given.includes(one))),
                  )
                }
              />
              {words()[scope]}
            </label>
          ))}
        </fieldset>
        <p id={`${id}-end`} className={styles.note}>
          {t("You can end this at any time in Settings, under Keys.")}
        </p>
        <Button type="submit" look="primary" icon={Check} disabled={busy || !given.length}>
          {t("Let it in")}
        </Button>
        <Button icon={Ban} disabled={busy} onClick={() => void decide(false)}>
          {t("Refuse")}
        </Button>
      </form>
    </>
  );
}
