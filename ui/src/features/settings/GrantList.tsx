import { useState } from "react";
import { type Grant, grantsApi } from "../../api/grants";
import { t } from "../../i18n";
import { Button } from "../../kit/Button";
import { Confirm } from "../../kit/Dialog";
import { ProblemNotice, Skeleton } from "../../kit/pieces";
import { useApp } from "../../services/context";
import { useRead } from "../../services/useRead";
import { fullDate } from "../../services/words";
import room from "./Room.module.css";
import lines from "./SharedLinks.module.css";

/** Where the program is, what it may do, since when, and whether it still comes. */
function factsOf({ host, scopes, created_at, renewed_at }: Grant): string {
  return [
    host,
    scopes.join(", "),
    t("since {date}", { date: fullDate(Date.parse(created_at)) }),
    renewed_at && t("last signed in on {date}", { date: fullDate(Date.parse(renewed_at)) }),
  ]
    .filter(Boolean)
    .join(" · ");
}

/** The programs that who is signed in let use Bethink as an MCP server. */
export function GrantList() {
  const { toasts } = useApp();
  const { value, problem, read } = useRead(grantsApi.list);
  const [ending, setEnding] = useState<Grant | null>(null);
  const end = async ({ id, client }: Grant) => {
    try {
      await grantsApi.end(id);
      toasts.show(t("“{client}” is no longer let in", { client }));
    } catch (error) {
      toasts.fault(error);
    }
    await read();
  };
  return (
    <section className={room.part} aria-labelledby="programs-let-in">
      <h2 id="programs-let-in">{t("Programs you let in")}</h2>
      <p className={room.note}>
        {t(
          "Programs that signed in as you to use Bethink as an MCP server, such as a connector of Claude or ChatGPT.",
        )}
      </p>
      {problem && <ProblemNotice problem={problem} onRetry={() => void read()} />}
      {!value && !problem && <Skeleton lines={2} label={t("Loading the programs")} />}
      {value?.items.length === 0 && <p className={room.note}>{t("No program was let in.")}</p>}
      {value && value.items.length > 0 && (
        <ul className={lines.links} aria-labelledby="programs-let-in">
          {value.items.map((grant) => (
            <li key={grant.id}>
              <span>
                <strong>{grant.client}</strong>
                <small>{factsOf(grant)}</small>
              </span>
              <Button look="fault" onClick={() => setEnding(grant)}>
                {t("Revoke")}
                <span className="visually-hidden"> {grant.client}</span>
              </Button>
            </li>
          ))}
        </ul>
      )}
      {ending && (
        <Confirm
          title={t("Revoke “{name}”?", { name: ending.client })}
          action={t("Revoke")}
          onConfirm={() => void end(ending)}
          onClose={() => setEnding(null)}
        >
          <p>{t("It is refused within a second. To let it in again, connect it anew there.")}</p>
        </Confirm>
      )}
    </section>
  );
}
