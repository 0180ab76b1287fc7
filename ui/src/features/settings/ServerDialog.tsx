// Adding or changing a server of tools: a program, whose command is shown before it runs, or an address.
import { type FormEvent, useEffect, useRef, useState } from "react";
import { asProblem, type Problem } from "../../api/client";
import {
  type ConfiguredServer,
  type ConfiguredServers,
  type ServerConfig,
  type ServerTest,
  settingsApi,
} from "../../api/settings";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { Notice, ProblemNotice, Segmented } from "../../kit/pieces";
import { ServerFields } from "./ServerFields";
import styles from "./Servers.module.css";
import { commandOf, configOf, emptyForm, formOf, type ServerForm } from "./serverConfig";

type DialogProps = {
  /** Null for a new one. */
  kept: ConfiguredServer | null;
  /** Whether this machine has a sandbox for programs: a new one is put into it unless that is taken back. */
  canSandbox: boolean;
  onClose: () => void;
  onSaved: (servers: ConfiguredServers) => void;
};

type Asked = { about: "test" | "save"; config: ServerConfig };

/** What is asked of the server that is being set up, one thing at a time. */
function useServerCalls(name: string, onSaved: DialogProps["onSaved"]) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [test, setTest] = useState<ServerTest | null>(null);
  const call = async ({ about, config }: Asked) => {
    const confirm = commandOf(config);
    const body = { ...config, ...(confirm && { confirm }) };
    setBusy(true);
    setProblem(null);
    setTest(null);
    try {
      if (about === "test")
        setTest(await settingsApi.testServer({ ...body, name: name || "test" }));
      else onSaved(await settingsApi.putServer(name, body));
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  };
  return { busy, problem, test, call, forget: () => setTest(null) };
}

export function ServerDialog({ kept, canSandbox, onClose, onSaved }: DialogProps) {
  const given = kept?.name ?? "";
  const [name, setName] = useState(given);
  const [form, setForm] = useState<ServerForm>(
    kept ? formOf(kept.config, kept.confinement !== "none") : { ...emptyForm, sandbox: canSandbox },
  );
  const [asked, setAsked] = useState<Asked | null>(null);
  const [confirmed, setConfirmed] = useState("");
  const { busy, problem, test, call, forget } = useServerCalls(name.trim(), onSaved);
  const config = configOf(form, kept?.config);
  const ready = name.trim() !== "" && config !== null && !busy;
  // A program is started for a test, too: its command is looked at before.
  const ask = (about: Asked["about"]) => {
    if (!config) return;
    const next = { about, config };
    if (config.command && commandOf(config) !== confirmed) setAsked(next);
    else void call(next);
  };
  const change = (patch: Partial<ServerForm>) => {
    setForm({ ...form, ...patch });
    setAsked(null);
    forget();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (ready) ask("save");
  };
  return (
    <Dialog
      title={given ? t("Edit {name}", { name: given }) : t("Add a server")}
      className="wide"
      onClose={onClose}
    >
      <form className="body scroll" onSubmit={submit}>
        <Segmented
          label={t("Where it runs")}
          value={form.kind}
          onChange={(kind) => change({ kind })}
          options={[
            { value: "http", label: t("At an address") },
            { value: "stdio", label: t("A program on this machine") },
          ]}
        />
        <ServerFields form={form} name={name} isNew={!given} onName={setName} onChange={change} />
        {asked && (
          <Ask
            command={commandOf(asked.config)}
            isHeld={asked.config.sandbox === true}
            about={asked.about}
            busy={busy}
            onBack={() => setAsked(null)}
            onRun={() => {
              setConfirmed(commandOf(asked.config));
              setAsked(null);
              void call(asked);
            }}
          />
        )}
        {test && <Offered test={test} />}
        {problem && <ProblemNotice problem={problem} />}
        <div className="actions">
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button disabled={!config || busy || asked !== null} onClick={() => ask("test")}>
            {busy ? t("Checking…") : t("Test")}
          </Button>
          <Button look="primary" type="submit" disabled={!ready || asked !== null}>
            {given ? t("Save") : t("Add")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

type AskProps = {
  command: string;
  isHeld: boolean;
  about: Asked["about"];
  busy: boolean;
  onBack: () => void;
  onRun: () => void;
};

/** Before a program runs: the exact command, and what that means. */
function Ask({ command, isHeld, about, busy, onBack, onRun }: AskProps) {
  const place = useRef<HTMLElement>(null);
  useEffect(() => place.current?.focus(), []);
  return (
    <section ref={place} tabIndex={-1} className="notice ask" aria-label={t("Run this program?")}>
      <div>
        <strong>{t("Run this program?")}</strong>
        <span>
          {isHeld
            ? t("Bethink will start exactly this command, in a sandbox:")
            : t("Bethink will start exactly this command, with your rights on this machine:")}
        </span>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long command is scrolled with the keyboard */}
        <pre className={styles.command} tabIndex={0}>
          {command}
        </pre>
        <span className={styles.actions}>
          <Button look="primary" disabled={busy} onClick={onRun}>
            {about === "test" ? t("Run it for a test") : t("Allow and add")}
          </Button>
          <Button disabled={busy} onClick={onBack}>
            {t("Back")}
          </Button>
        </span>
      </div>
    </section>
  );
}

function Offered({ test: { ok, problem, tools = [] } }: { test: ServerTest }) {
  if (!ok) {
    return (
      <Notice tone="fault">
        <strong>{t("It does not answer")}</strong>
        <span>{problem}</span>
      </Notice>
    );
  }
  return (
    <section className="notice" aria-live="polite" aria-label={t("What it offers")}>
      <div>
        <strong>
          {t("It answers, with {count, plural, =0 {no tools} one {# tool} other {# tools}}", {
            count: tools.length,
          })}
        </strong>
        <ul className={`scroll ${styles.offered}`}>
          {tools.map(({ name, description }) => (
            <li key={name}>
              <code>{name}</code>
              <p>{description}</p>
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}
