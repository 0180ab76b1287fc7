import type { Today } from "../../api/today";
import { t, told } from "../../i18n";
import { Link } from "../../kit/pieces";
import { addressOfChat } from "../../services/router";
import { shortDate } from "../../services/words";
import { Part } from "./Part";
import styles from "./Today.module.css";

/** What schedules brought since the evening. */
export function Brought({ runs }: { runs: Today["runs"] }) {
  return (
    <Part title={t("Brought by schedules")} many={runs.length}>
      {runs.map((run) => (
        <li key={run.id} className={styles.row}>
          <span>
            {run.title && <strong>{run.title} </strong>}
            {run.message || told(run.error ?? "")}
          </span>
          <small>{shortDate(Date.parse(run.due_at))}</small>
          {run.conversation && <Link to={addressOfChat(run.conversation)}>{t("Open")}</Link>}
        </li>
      ))}
    </Part>
  );
}
