import type { Today } from "../../api/today";
import { t } from "../../i18n";
import { Link } from "../../kit/pieces";
import { shortDate } from "../../services/words";
import { Part } from "./Part";
import styles from "./Today.module.css";

/** What is remembered with a date of these days. */
export function Promised({ facts }: { facts: Today["promised"] }) {
  return (
    <Part title={t("Promised")} many={facts.length}>
      {facts.map((fact) => (
        <li key={fact.id} className={styles.row}>
          <Link to={`/memory/${encodeURIComponent(fact.id)}`}>{fact.content}</Link>
          <small>{shortDate(Date.parse(fact.created_at))}</small>
        </li>
      ))}
    </Part>
  );
}
