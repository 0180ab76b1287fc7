// Other calendars: accounts that are synchronised, files, and feeds that others subscribe to.
import { ArrowLeft, Download } from "lucide-react";
import { calendarsApi } from "../../api/calendars";
import { t } from "../../i18n";
import { PageHead } from "../../kit/PageHead";
import { Link } from "../../kit/pieces";
import { Accounts } from "./Accounts";
import styles from "./Calendar.module.css";
import { Feeds } from "./Feeds";
import { ImportFile } from "./ImportFile";
import { SyncConflicts } from "./SyncConflicts";

export function CalendarSettings() {
  return (
    <div className="page">
      <PageHead
        title={t("Other calendars")}
        lead={
          <Link
            className="icon-button"
            to="/calendar"
            aria-label={t("Back to the calendar")}
            data-tip={t("Back to the calendar")}
          >
            <ArrowLeft size={18} aria-hidden />
          </Link>
        }
      />
      <div className="page scroll">
        <div className={`page-inner ${styles.calendars}`}>
          <SyncConflicts />
          <Accounts />
          <section>
            <h2>{t("Files")}</h2>
            <p>
              {t("Events and tasks of a calendar file (.ics) come in; all of yours go out as one.")}
            </p>
            <div className={styles.line}>
              <ImportFile />
              <a className="button" href={calendarsApi.exportAddress} download="bethink.ics">
                <Download size={16} aria-hidden />
                {t("Export all")}
              </a>
            </div>
          </section>
          <Feeds />
        </div>
      </div>
    </div>
  );
}
