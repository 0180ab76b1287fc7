import { useEffect, useState } from "react";
import { api } from "../api/client";
import { settingsApi } from "../api/settings";
import { t } from "../i18n";
import { Link } from "../kit/pieces";
import { browserZone, inZone } from "../services/days";
import styles from "./planner.module.css";

/** Says so if times in words are read by another clock than this browser's. */
export function ZoneNote() {
  const [zone, setZone] = useState("");
  useEffect(() => {
    let isHere = true;
    Promise.all([api.settings(), settingsApi.preferences()]).then(
      ([settings, mine]) => isHere && setZone(mine.time_zone ?? settings.time_zone),
      () => undefined,
    );
    return () => {
      isHere = false;
    };
  }, []);
  const now = new Date();
  if (!zone || inZone(now, zone) === inZone(now, browserZone())) return null;
  return (
    <p className={styles.zoneNote}>
      {t("Times in words are read by the clock in {zone}; this browser is in {browserzone}.", {
        zone,
        browserzone: browserZone(),
      })}{" "}
      <Link to="/settings/you">{t("Change the time zone")}</Link>
    </p>
  );
}
