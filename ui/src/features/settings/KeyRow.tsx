import type { KeyShown } from "../../api/types";
import { Button } from "../../kit/Button";
import { fullDate, shortDate } from "../../services/words";

function Moment({ at }: { at: string }) {
  const time = Date.parse(at);
  return (
    <time dateTime={at} title={fullDate(time)}>
      {shortDate(time)}
    </time>
  );
}

const states: Record<KeyShown["state"], string> = {
  live: "Active",
  expired: "Expired",
  revoked: "Revoked",
};

/** One key, never its text: what it is for, what it lets do, and when it was used. */
export function KeyRow({ shown, onRevoke }: { shown: KeyShown; onRevoke: () => void }) {
  const { name, hint, scopes, state, created_at, last_used_at, expires_at } = shown;
  return (
    <li className={state}>
      <div className="about">
        <p className="key-name">
          <strong>{name}</strong> <code>…{hint}</code>
        </p>
        <p className="facts">
          <span className="state">{states[state]}</span>
          <span>{scopes.join(", ")}</span>
          <span>
            {" "}
            created <Moment at={created_at} />
          </span>
          <span>
            {last_used_at ? (
              <>
                used <Moment at={last_used_at} />
              </>
            ) : (
              "never used"
            )}
          </span>
          {state !== "revoked" && (
            <span>
              {expires_at ? (
                <>
                  {state === "expired" ? "expired" : "expires"} on{" "}
                  <time dateTime={expires_at}>{new Date(expires_at).toLocaleDateString()}</time>
                </>
              ) : (
                "never expires"
              )}
            </span>
          )}
        </p>
      </div>
      {state === "live" && (
        <div className="actions">
          <Button onClick={onRevoke}>
            Revoke<span className="visually-hidden"> {name}</span>
          </Button>
        </div>
      )}
    </li>
  );
}
