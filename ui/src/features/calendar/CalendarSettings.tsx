// Other calendars: accounts that are synchronised, files, and feeds that others subscribe to.
import { ArrowLeft, Download } from "lucide-react";
import { calendarsApi } from "../../api/calendars";
import { t } from "../../i18n";
import { Link } from "../../kit/pieces";
import { Accounts } from "./Accounts";
import { Feeds } from "./Feeds";
import { ImportFile } from "./ImportFile";
import { SyncConflicts } from "./SyncConflicts";

export function CalendarSettings() {
  return (
    <div className="page scroll">
      <div className="page-inner calendars">
        <header className="page-head">
          <Link className="icon-button" to="/calendar" aria-label={t("Back to the calendar")}>
            <ArrowLeft size={18} aria-hidden />
          </Link>
          <h1>{t("Other calendars")}</h1>
        </header>
        <SyncConflicts />
        <Accounts />
        <section>
          <h2>{t("Files")}</h2>
          <p>
            {t("Events and tasks of a calendar file (.ics) come in; all of yours go out as one.")}
          </p>
          <div className="line">
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
  );
}
