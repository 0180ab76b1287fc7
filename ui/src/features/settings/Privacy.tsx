// How long things are kept and what is masked; what is shared; taking everything along, and forgetting everything.
import { Download } from "lucide-react";
import { api } from "../../api/client";
import { t } from "../../i18n";
import { Link } from "../../kit/pieces";
import { GroupSettings } from "./GroupSettings";
import { Retention } from "./Retention";
import styles from "./Room.module.css";
import { SharedLinks } from "./SharedLinks";

export function Privacy({ found }: { found: string | null }) {
  return (
    <>
      <GroupSettings groups={["privacy"]} found={found} />
      <Retention />
      <SharedLinks />
      <section className={styles.part} aria-labelledby="export">
        <h2 id="export">{t("Export")}</h2>
        <p className={styles.note}>
          {t("Everything that Bethink knows of you, in open formats. It can be imported again.")}
        </p>
        <div className={styles.buttons}>
          <a
            className="button"
            href={api.exportAddress({ format: "jsonl", conversations: true })}
            download
          >
            <Download size={16} aria-hidden />
            {t("All, as JSON Lines")}
          </a>
          <a className="button" href={api.exportAddress({ format: "md" })} download>
            <Download size={16} aria-hidden />
            {t("Memories as Markdown")}
          </a>
        </div>
      </section>
      <section className={styles.part} aria-labelledby="forget">
        <h2 id="forget">{t("Forget everything")}</h2>
        <p className={styles.note}>
          {t(
            "Deletes your memories for good, and your conversations and pages if you wish. Its menu in Memory shows what would go before it goes.",
          )}
        </p>
        <div className={styles.buttons}>
          <Link className="button" to="/memory">
            {t("Go to Memory")}
          </Link>
        </div>
      </section>
    </>
  );
}
