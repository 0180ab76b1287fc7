import { Ban, Check, ChevronRight, CircleAlert, CircleX, type LucideIcon } from "lucide-react";
import { useState } from "react";
import type { ToolCallRecord } from "../../api/types";
import { t } from "../../i18n";
import { Link } from "../../kit/pieces";
import { duration, fullDate, shortDate } from "../../services/words";
import styles from "./Calls.module.css";
import { decidedBy, outcome } from "./toolWords";

function faceOf({ by, error }: ToolCallRecord): { icon: LucideIcon; tone: string } {
  if (by === "reject") return { icon: CircleX, tone: "refused" };
  if (by === "deny") return { icon: Ban, tone: "refused" };
  return error ? { icon: CircleAlert, tone: "failed" } : { icon: Check, tone: "done" };
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** One call in a line; opened, what it was called with and where. */
export function CallRow({ call }: { call: ToolCallRecord }) {
  const [open, setOpen] = useState(false);
  const { icon: Icon, tone } = faceOf(call);
  const at = Date.parse(call.at);
  return (
    <li>
      <details
        className={`${styles.call} ${styles[tone]}`}
        open={open}
        onToggle={(event) => setOpen(event.currentTarget.open)}
      >
        <summary>
          <ChevronRight size={14} className={styles.turner} aria-hidden />
          <Icon size={15} className={styles.state} aria-hidden />
          <code className="clip">{call.tool}</code>
          <span className={styles.decided}>{decidedBy(call.by)}</span>
          <span className={styles.outcome}>{outcome(call.error)}</span>
          <span className={styles.took}>
            {tone === "refused" ? "" : duration(call.duration_ms)}
          </span>
          <time dateTime={call.at} title={fullDate(at)}>
            {shortDate(at)}
          </time>
        </summary>
        {open && (
          <div className={styles.inside}>
            {call.arguments === null ? (
              <p>{t("The arguments were deleted with the conversation.")}</p>
            ) : (
              // biome-ignore lint/a11y/noNoninteractiveTabindex: long arguments are scrolled with the keyboard
              <pre tabIndex={0}>{pretty(call.arguments)}</pre>
            )}
            {call.arguments !== null && (
              <Link to={`/c/${call.conversation}`}>{t("Open the conversation")}</Link>
            )}
          </div>
        )}
      </details>
    </li>
  );
}
