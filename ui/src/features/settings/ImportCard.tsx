import { useState } from "react";
import { api } from "../../api/client";
import type { ImportShown } from "../../api/types";
import { t, told } from "../../i18n";
import { Button } from "../../kit/Button";
import { useApp } from "../../services/context";
import { bytes, shortDate } from "../../services/words";
import styles from "./Import.module.css";
import { ImportChoice } from "./ImportChoice";
import { ImportReport } from "./ImportReport";
import { isEmpty, shareOf, sourceOf, stateName, WORKING } from "./importWords";
import { type Tone, toneIcons } from "./Parts";
import servers from "./Servers.module.css";

function toneOf({ state }: ImportShown): Tone {
  if (WORKING.includes(state)) return "loading";
  if (state === "failed" || state === "stopped") return "degraded";
  return state === "done" ? "ok" : "off";
}

type CardProps = {
  one: ImportShown;
  /** Called when the server has changed it; reads it again. */
  onChange: () => Promise<void>;
};

/** One import: how it is, what it holds or became, and what can be done about it. */
export function ImportCard({ one, onChange }: CardProps) {
  const { toasts } = useApp();
  const [busy, setBusy] = useState(false);
  const ask = async (call: () => Promise<unknown>) => {
    setBusy(true);
    try {
      await call();
      await onChange();
    } catch (error) {
      toasts.fault(error);
    } finally {
      setBusy(false);
    }
  };
  const undo = () => ask(() => api.undoImport(one.id));
  const discard = () => ask(() => api.discardImport(one.id));
  const tone = toneOf(one);
  const Icon = toneIcons[tone];
  const heading = `import-${one.id}`;
  const working = WORKING.includes(one.state);
  const report = one.report ?? one.preview;
  const size = report?.size ? `, ${bytes(report.size)}` : "";
  const undoable = one.report && (one.state === "done" || one.state === "stopped");
  const empty = one.state === "ready" && report !== null && isEmpty(report);
  const choosing = !empty && (one.state === "ready" || (one.state === "stopped" && one.staged));
  const others = (
    <>
      {undoable && (
        <Button disabled={busy} onClick={() => void undo()}>
          {t("Undo import")}
          <span className="visually-hidden"> {t("of {name}", { name: one.name })}</span>
        </Button>
      )}
      {one.staged && !working && (
        <Button look="quiet" disabled={busy} onClick={() => void discard()}>
          {t("Delete the upload")}
          <span className="visually-hidden"> {t("of {name}", { name: one.name })}</span>
        </Button>
      )}
    </>
  );
  return (
    <li>
      <article
        className={`${servers.card} ${styles.card}`}
        aria-labelledby={heading}
        aria-busy={working}
      >
        <header>
          <Icon size={16} className={servers[tone]} aria-hidden />
          <h2 id={heading}>{one.name}</h2>
          <span className={servers.state} role="status">
            {empty ? t("Nothing to import") : stateName(one.state)}
          </span>
        </header>
        <p className={servers.facts}>
          <span>
            {one.source ? sourceOf(one.source) : t("An export")}
            {size}
          </span>
          <span>{shortDate(Date.parse(one.at))}</span>
        </p>
        {one.error && <p className={servers.reason}>{told(one.error)}</p>}
        {working && (
          <progress
            max={1}
            {...(shareOf(report) !== null && { value: shareOf(report) ?? 0 })}
            aria-label={stateName(one.state)}
          />
        )}
        {report && <ImportReport report={report} state={one.state} />}
        {choosing ? (
          <ImportChoice
            one={one}
            busy={busy}
            onApply={(choice) => void ask(() => api.applyImport(one.id, choice))}
          >
            {others}
          </ImportChoice>
        ) : (
          <div className={servers.actions}>{others}</div>
        )}
      </article>
    </li>
  );
}
